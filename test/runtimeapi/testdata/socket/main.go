// Command socket is a program of a client with a WebSocket: it prints the handshake, and
// then its input.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/coder/websocket"
)

func serve(w http.ResponseWriter, r *http.Request) {
	// Whoever may connect was checked before.
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{"own"}})
	if err != nil {
		log.Print(err)
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(8 << 20)
	hello, err := json.Marshal(map[string]any{"uri": r.RequestURI, "header": r.Header})
	if err == nil {
		err = c.Write(r.Context(), websocket.MessageText, hello)
	}
	for err == nil {
		var kind websocket.MessageType
		var text []byte
		if kind, text, err = c.Read(r.Context()); err != nil {
			break
		}
		switch string(text) {
		case "close":
			err = c.Close(4001, "as told")
		case "exit":
			os.Exit(3)
		default:
			err = c.Write(r.Context(), kind, text)
		}
	}
	log.Print(err)
}

func main() {
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(serve)))
}
