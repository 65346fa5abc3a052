package exchange_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/openai"
)

// TestConnectionIsUsedAgain makes calls to a server that ends its answers a
// moment after their last event, and counts the connections.
func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(`data: {"id":"r","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-time.After(time.Millisecond)
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	m, err := openai.New(llm.Config{Model: "openai/m", BaseURL: srv.URL, APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		_, err := m.Generate(t.Context(), llm.Request{Messages: []event.Message{
			{Role: event.RoleUser, Content: []event.Content{event.Text("hi")}},
		}}, func(llm.Delta) {})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for five calls one after the other, want 1", n)
	}
}
