package settings_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/server/agentserver/settings"
	"github.com/deft-dev/deft/server/agentserver/settings/llmlist"
	"github.com/deft-dev/deft/server/rest"
	store "github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/workspaces"
	"github.com/deft-dev/deft/spec"
)

// ping stands for a provider: models say by their names how calls end.
func ping(_ context.Context, l *spec.LLM) error {
	switch {
	case l.Model == "openai/bad-key":
		return fault.New(fault.Auth, "invalid key "+l.APIKey.Reveal())
	case l.Model == "openai/busy":
		return fault.New(fault.RateLimit, "too many requests")
	case l.Model == "openai/unknown":
		failed := llm.NewError(fault.Invalid, "openai", l.Model, "no such model", nil)
		failed.Status = http.StatusNotFound
		return failed
	case l.Model == "openai/unnamed":
		failed := llm.NewError(fault.Invalid, "openai", l.Model, "no such model", nil)
		failed.Status, failed.Code = http.StatusBadRequest, "model_not_found"
		return failed
	case l.Model == "openai/broke":
		return fault.New(fault.Quota, "the budget is used up")
	}
	return nil
}

// server is the settings over a directory, and its HTTP face.
type server struct {
	*store.Service
	url string
	t   *testing.T
}

func serve(t *testing.T, dir string, keys *keyring.Ring) *server {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{
		Dir: dir, Keys: keys, Ping: ping,
		NoBrowser: true, // as in the reference here
		Usable:    func(tool string) bool { return tool != "nonesuch" },
		Log:       slog.New(slog.DiscardHandler),
	})
	must.Succeed(t, err)
	routes := append(settings.Routes(settings.Only(s), slog.New(slog.DiscardHandler)), settings.Workspaces(workspaces.New(dir))...)
	routes = append(routes, settings.OrganizationConnections(settings.Only(s), slog.New(slog.DiscardHandler))...)
	routes = append(routes, llmlist.New(catalog.Default, nil).Routes()...)
	h, err := rest.New(rest.Options{Routes: routes, Keys: func() []string { return nil }})
	must.Succeed(t, err)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return &server{Service: s, url: web.URL, t: t}
}

// reply is an answer; Body is its JSON, or its text.
type reply struct {
	Status int
	Body   any
}

// call makes a request. path may hold a header after a blank, "/a X-B: c".
func call(t *testing.T, base, method, path, body string) reply {
	t.Helper()
	path, header, _ := strings.Cut(path, " ")
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, in)
	must.Succeed(t, err)
	r.Header.Set("Content-Type", "application/json")
	if name, v, ok := strings.Cut(header, ": "); ok {
		r.Header.Set(name, v)
	}
	res, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	must.Succeed(t, err)
	out := reply{Status: res.StatusCode}
	if err := json.Unmarshal(raw, &out.Body); err != nil {
		out.Body = string(raw)
	}
	return out
}

func (s *server) do(method, path, body string) reply {
	s.t.Helper()
	return call(s.t, s.url, method, path, body)
}

// at follows keys into JSON.
func at(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}
