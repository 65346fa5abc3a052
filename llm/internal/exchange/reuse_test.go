package exchange_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/openai"
)

// pipes is a listener of connections in memory: a goroutine that waits for one
// waits in the time of a bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	reservedFields, theirs := net.Pipe()
	p <- theirs
	return reservedFields, nil
}

// TestConnectionIsReused makes calls to a server that ends its answers shortly
// after their last event, and counts the connections.
func TestConnectionIsReused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var connections atomic.Int32
		srv := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write([]byte(`data: {"id":"r","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
				_ = http.NewResponseController(w).Flush()
				<-time.After(time.Millisecond)
			}),
			ConnState: func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections.Add(1)
				}
			},
		}
		ln := make(pipes)
		go func() { _ = srv.Serve(ln) }() // until it is closed
		defer func() { _ = srv.Shutdown(t.Context()) }()
		client := &http.Client{Transport: &http.Transport{DialContext: ln.dial}}
		defer client.CloseIdleConnections()
		m, err := openai.New(llm.Config{Model: "openai/m", BaseURL: "http://server.example", APIKey: "k", HTTPClient: client})
		must.Succeed(t, err)
		for range 5 {
			_, err := m.Generate(t.Context(), llm.Request{Messages: []event.Message{
				{Role: event.RoleUser, Content: []event.Content{event.Text("hi")}},
			}}, func(llm.Delta) {})
			must.Succeed(t, err)
		}
		if n := connections.Load(); n != 1 {
			t.Errorf("%d connections for five calls one after the other, want 1", n)
		}
	})
}
