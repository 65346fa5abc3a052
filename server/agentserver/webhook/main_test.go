package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/agentserver/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post is one request that an endpoint got.
type post struct {
	path   string
	header http.Header
	raw    []byte
	texts  []string // of the events in it
}

// sink is an endpoint. Its verdict decides about each post; accepted posts are
// handed on in order.
type sink struct {
	*httptest.Server
	got chan post

	mu      sync.Mutex
	verdict func(post) int
}

func newSink(t *testing.T) *sink {
	s := &sink{got: make(chan post, 10_000), verdict: func(post) int { return http.StatusOK }}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Server.Close)
	return s
}

func (s *sink) decide(f func(post) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdict = f
}

// ServeHTTP implements [http.Handler].
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := post{path: r.URL.Path, header: r.Header}
	p.raw, _ = io.ReadAll(r.Body)
	var evs []struct {
		LLM struct {
			Content []struct{ Text string }
		} `json:"llm_message"`
	}
	if json.Unmarshal(p.raw, &evs) == nil {
		for _, e := range evs {
			if len(e.LLM.Content) > 0 {
				p.texts = append(p.texts, e.LLM.Content[0].Text)
			}
		}
	}
	s.mu.Lock()
	verdict := s.verdict
	s.mu.Unlock()
	code := verdict(p)
	w.WriteHeader(code)
	if code/100 == 2 {
		s.got <- p
	}
}

// events reads posts until n events have come, and returns them in order.
func (s *sink) events(n int) (texts []string) {
	for len(texts) < n {
		texts = append(texts, (<-s.got).texts...)
	}
	return texts
}

// spec is quick, but for a test's changes.
func (s *sink) spec(change ...func(*config.Webhook)) config.Webhook {
	v := config.DefaultWebhook()
	v.BaseURL, v.FlushDelay, v.RetryDelay = s.URL+"/hook/", 0.01, 0.001
	for _, f := range change {
		f(&v)
	}
	return v
}

// server is a store and a place for cursors, over several lives of a service.
type server struct {
	t     *testing.T
	store eventstream.Stream
	path  string
}

func newServer(t *testing.T) *server {
	t.Helper()
	store, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, store.Close()) })
	return &server{t, store, filepath.Join(t.TempDir(), "webhooks.log")}
}

func (h *server) start(specs ...config.Webhook) *webhook.Service {
	h.t.Helper()
	cursors, err := webhook.OpenFile(h.path)
	must.Succeed(h.t, err)
	s, err := webhook.New(webhook.Options{
		Endpoints: specs, Stream: h.store, Cursors: cursors, Key: func() string { return "the key" },
	})
	must.Succeed(h.t, err)
	return s
}

// stop ends a service at once, or lets it deliver the rest.
func (h *server) stop(s *webhook.Service, now bool) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	if now {
		cancel()
	}
	defer cancel()
	must.Report(h.t, s.Close(ctx))
}

func (h *server) conversation() event.ConversationID {
	h.t.Helper()
	id := event.NewConversationID()
	must.Succeed(h.t, h.store.Create(h.t.Context(), id, eventstream.Meta{}))
	return id
}

// add appends events from..to, named by their numbers.
func (h *server) add(to eventstream.Stream, id event.ConversationID, first, last int) {
	h.t.Helper()
	for i := first; i <= last; i++ {
		if _, err := to.Append(context.Background(), id, event.NewUserMessage(fmt.Sprint(i))); err != nil {
			h.t.Fatal(err)
		}
	}
}

func numbers(first, last int) (out []string) {
	for i := first; i <= last; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

// once drops repeated records, which must equal the earlier ones.
func once(t *testing.T, texts []string) (out []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range texts {
		if !seen[s] {
			out = append(out, s)
		}
		seen[s] = true
	}
	return out
}

func join(s []string) string { return strings.Join(s, " ") }
