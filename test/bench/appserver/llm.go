package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// llm stands in for the LLM: it calls the terminal once, and then says that it is done.
type llm struct {
	http *http.Server
	url  string
}

func newLLM(ctx context.Context) (*llm, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &llm{url: "http://" + ln.Addr().String() + "/v1"}
	l.http = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		delta, reason := `{"role":"assistant","content":"done"}`, "stop"
		if bytes.Contains(raw, []byte(`"tools"`)) && !bytes.Contains(raw, []byte(`"role":"tool"`)) {
			delta, reason = `{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"echo one\"}"}}]}`, "tool_calls"
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range []string{
			fmt.Sprintf(`{"id":"r","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`, delta),
			fmt.Sprintf(`{"id":"r","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":%q}],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}}`, reason),
			"[DONE]",
		} {
			fmt.Fprintf(w, "data: %s\n\n", chunk)
		}
	})}
	go func() { _ = l.http.Serve(ln) }() // ends with close
	return l, nil
}

func (l *llm) close() { _ = l.http.Close() }
