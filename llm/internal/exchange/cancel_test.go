package exchange_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// silent is a server of one stream at a time: it sends one event, and then
// says on closed when the client's socket went away.
func silent(tb testing.TB, headers bool) (base string, asked <-chan struct{}, closed <-chan struct{}) {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(tb, err)
	begun, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serveSilent(conn, headers, begun, ended)
		}
	}()
	tb.Cleanup(func() {
		ln.Close()
		<-stopped
	})
	return "http://" + ln.Addr().String(), begun, ended
}

func serveSilent(conn net.Conn, headers bool, begun chan<- struct{}, ended chan<- struct{}) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return
	}
	if headers {
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {}\n\n")
	}
	begun <- struct{}{}
	if _, err := in.ReadByte(); err != nil { // the client sends nothing more
		ended <- struct{}{}
	}
}

// call makes a call that is cancelled as soon as the server has it.
func call(tb testing.TB, base string, asked <-chan struct{}) {
	tb.Helper()
	e := exchange.New("p", llm.Config{Model: "p/m", BaseURL: base, HTTPClient: &http.Client{Transport: &http.Transport{}}}, "")
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	w := e.Watch(ctx)
	defer w.Stop()
	result := make(chan error, 1)
	go func() {
		res, err := e.Post(w.Context(), "x", http.Header{}, []byte("{}"))
		if err == nil {
			_, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
		result <- err
	}()
	<-asked
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		tb.Errorf("the call ended with %v", err)
	}
}

// TestCancelClosesTheSocket checks that the server sees the end of a canceled call.
func TestCancelClosesTheSocket(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string]bool{"before the answer": false, "inside the answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, asked, closed := silent(t, headers)
			call(t, base, asked)
			<-closed
		})
	}
}
