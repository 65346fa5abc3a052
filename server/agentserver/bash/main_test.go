package bash_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/bash"
	"github.com/deft-dev/deft/server/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o bash.Options) *bash.Service {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := bash.Open(o)
	must.Succeed(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// event has the fields of all kinds.
type event struct {
	Kind, ID, Timestamp, Command string
	Cwd                          *string
	Timeout                      int
	CommandID                    string `json:"command_id"`
	Order                        int
	ExitCode                     *int `json:"exit_code"`
	Stdout, Stderr               *string
}

func (e event) code() int {
	if e.ExitCode == nil {
		return 1000
	}
	return *e.ExitCode
}

func str(s *string) string {
	if s == nil {
		return "<null>"
	}
	return *s
}

func parse(t *testing.T, raw json.RawMessage) (e event) {
	t.Helper()
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatalf("event %s: %v", raw, err)
	}
	return e
}

// run executes a command and returns its joined output.
func run(t *testing.T, s *bash.Service, req bash.Request) event {
	t.Helper()
	if req.Timeout == 0 {
		req.Timeout = 60
	}
	id, err := s.Execute(t.Context(), req)
	must.Succeed(t, err)
	var b strings.Builder
	must.Succeed(t, s.WriteOutput(&b, id))
	return parse(t, json.RawMessage(b.String()))
}

// all lists the events that a query selects, over all pages.
func all(t *testing.T, s *bash.Service, q bash.Query) (events []event, pages int) {
	t.Helper()
	for {
		next, err := s.Search(q, func(raw json.RawMessage) error {
			events = append(events, parse(t, raw))
			return nil
		})
		must.Succeed(t, err)
		pages++
		if next == "" {
			return events, pages
		}
		q.Page = next
	}
}

func serve(t *testing.T, routes []rest.Route) *httptest.Server {
	t.Helper()
	h, err := rest.New(rest.Options{Routes: routes, Keys: func() []string { return nil }})
	must.Succeed(t, err)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// call makes a request and returns the status and the body.
func call(t *testing.T, srv *httptest.Server, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	must.Succeed(t, err)
	resp, err := srv.Client().Do(req)
	must.Succeed(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must.Succeed(t, err)
	return resp.StatusCode, string(b)
}
