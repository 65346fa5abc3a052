package deferredinit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/agentserver/deferredinit"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session/build"
)

func say(text string) rest.Handler {
	return func(w http.ResponseWriter, _ *http.Request) error { return rest.JSON(w, 200, text) }
}

// server has a health route before, and a route /api/things once it is awake.
func server(t *testing.T, key string, start func(context.Context, deferredinit.Request) error) *deferredinit.Service {
	t.Helper()
	o := deferredinit.Options{
		Key:     func() (string, bool) { return key, key == "" },
		Dormant: []rest.Route{{Method: "GET", Path: "/health", Scope: rest.Public, Limit: rest.NoBody, Handle: say("well")}},
	}
	var s *deferredinit.Service
	if start != nil {
		o.Start = func(ctx context.Context, r deferredinit.Request) (http.Handler, error) {
			if err := start(ctx, r); err != nil {
				return nil, err
			}
			return rest.New(rest.Options{
				Keys:   func() []string { return nil },
				Routes: append(s.Routes(), rest.Route{Method: "GET", Path: "/api/things", Scope: rest.Account, Handle: say("thing")}),
			})
		}
	}
	s, err := deferredinit.New(o)
	must.Succeed(t, err)
	return s
}

func do(t *testing.T, h http.Handler, method, path, key, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set(deferredinit.Header, key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	b, err := io.ReadAll(w.Body)
	must.Succeed(t, err)
	return w.Code, string(b)
}

func TestWaking(t *testing.T) {
	t.Parallel()
	var got deferredinit.Request
	fail := true
	s := server(t, "pool", func(_ context.Context, r deferredinit.Request) error {
		if got = r; fail {
			return errors.New("no disk")
		}
		return nil
	})
	const sleepy = "503: server is in deferred-init state 'dormant'; call POST /api/init first"
	const body = `{"session_api_keys": ["a"], "max_concurrent_runs": 3, "env": {"X": "1"}, "web_url": null}`
	steps := []struct {
		method, path, key, body string
		code                    int
		want                    string
	}{
		{"GET", "/health", "", "", 200, `"well"`},
		{"GET", "/api/things", "", "", 503, sleepy}, {"GET", "/sockets/events/x", "", "", 503, sleepy},
		{"POST", "/v1/chat/completions", "", "", 503, sleepy}, {"GET", "/nowhere", "", "", 503, sleepy},
		{"GET", "/api/init", "", "", 200, `{"state":"dormant","error":null}`},
		{"POST", "/api/init", "", body, 401, `{"detail":"Unauthorized"}`}, {"POST", "/api/init", "wrong", body, 401, "Unauthorized"},
		{"POST", "/api/init", "pool", `{"hosts": 1, "a": 2}`, 422, `{"detail":[{"type":"extra_forbidden","loc":["body","hosts"],"msg":"Extra inputs are not permitted","input":1},{"type":"extra_forbidden","loc":["body","a"],"msg":"Extra inputs are not permitted","input":2}]}`},
		{"POST", "/api/init", "pool", `{"session_api_keys": ["a", " \t"]}`, 422, "empty keys"},
		{"POST", "/api/init", "pool", `{"session_api_keys": ["a", ""]}`, 422, `{"detail":"session_api_keys cannot contain empty keys"}`},
		{"POST", "/api/init", "pool", `{"env": {"A=B": "c"}}`, 422, "env"}, {"POST", "/api/init", "pool", `{`, 422, "json_invalid"},
		{"POST", "/api/init", "pool", `{"env": 7}`, 422, `"env"`}, {"POST", "/api/init", "pool", ``, 422, "missing"}, {"POST", "/api/init", "pool", `null`, 422, "model_attributes_type"},
		{"POST", "/api/init", "pool", body, 500, "no disk"},
		{"GET", "/api/init", "", "", 200, `{"state":"dormant","error":"no disk"}`},
	}
	run := func(method, path, key, body string, code int, want string) {
		t.Helper()
		if c, b := do(t, s, method, path, key, body); c != code || !strings.Contains(b, want) {
			t.Errorf("%s %s: %d %s, want %d %s", method, path, c, b, code, want)
		}
	}
	for _, st := range steps {
		run(st.method, st.path, st.key, st.body, st.code, st.want)
	}
	if s.Ready() {
		t.Error("ready before it was woken")
	}
	fail = false
	run("POST", "/api/init", "pool", body, 200, `{"state":"ready","error":null}`)
	if d := cmp.Diff(map[string]string{"X": "1"}, got.Env); d != "" {
		t.Error(d)
	}
	run("GET", "/api/things", "", "", 200, `"thing"`)
	run("POST", "/api/init", "pool", body, 400, `{"detail":"server already in state: ready"}`)
	run("GET", "/api/init", "", "", 200, `"ready"`)
	if !s.Ready() {
		t.Error("not ready after it was woken")
	}
}

// TestOneWakes has a second request while the first is at work.
func TestOneWakes(t *testing.T) {
	t.Parallel()
	began, end := make(chan struct{}), make(chan struct{})
	s := server(t, "", func(context.Context, deferredinit.Request) error {
		close(began)
		<-end
		return nil
	})
	done := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/api/init", strings.NewReader("{}")))
		done <- w.Code
	}()
	<-began
	if code, body := do(t, s, "POST", "/api/init", "", "{}"); code != 400 || !strings.Contains(body, "initializing") {
		t.Errorf("the second: %d %s", code, body)
	}
	if code, _ := do(t, s, "GET", "/api/things", "", ""); code != 503 {
		t.Errorf("a route meanwhile: %d", code)
	}
	close(end)
	if code := <-done; code != 200 {
		t.Errorf("the first: %d", code)
	}
}

func TestNotOffered(t *testing.T) {
	t.Parallel()
	s := server(t, "", nil)
	want := `{"detail":"server is not running with deferred_init=True; the /api/init endpoint is not available"}`
	for _, method := range []string{"GET", "POST"} {
		if code, body := do(t, s, method, "/api/init", "", "{}"); code != 404 || body != want {
			t.Errorf("%s: %d %s", method, code, body)
		}
	}
}

// TestSettings merges the request's settings with the stored ones.
func TestSettings(t *testing.T) {
	t.Parallel()
	base, err := config.Load([]string{"HOME=" + t.TempDir(), "OH_DEFERRED_INIT=1", "OH_SECRET_KEY=pool"}, config.Flags{Host: "0.0.0.0", Config: "/nowhere", Classes: build.StandardClasses().Sandboxes})
	must.Succeed(t, err)
	var merged *config.Loaded
	s := server(t, "", func(_ context.Context, r deferredinit.Request) (err error) {
		merged, err = base.With(r.Settings)
		return err
	})
	for body, want := range map[string]string{
		`{"max_concurrent_runs": 0, "session_api_keys": ["a"]}`:         "must be at least 1",
		`{"webhooks": [{"base_url": 3}], "session_api_keys": ["a"]}`:    "webhooks.0.base_url",
		`{"session_api_keys": "a"}`:                                     "must be a list",
		`{"conversations_path": "a\u0000b", "session_api_keys": ["a"]}`: "must be text",
		`{}`: "without a session key", // it listens for everybody
	} {
		if code, got := do(t, s, "POST", "/api/init", "", body); code != 422 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s, want 422 %s", body, code, got, want)
		}
	}
	body := `{"session_api_keys": ["a"], "secret_key": " ", "conversations_path": "/c", "webhooks": [{"base_url": "http://h"}], "max_concurrent_runs": null}`
	if code, got := do(t, s, "POST", "/api/init", "", body); code != 200 {
		t.Fatalf("%d %s", code, got)
	}
	if merged.DeferredInit || merged.ConversationsPath != "/c" || merged.Webhooks[0].EventBufferSize != 5 ||
		merged.SecretKey.Reveal() != "pool" || merged.MaxConcurrentRuns != base.MaxConcurrentRuns || merged.Keys()[0] != "a" {
		t.Errorf("merged: %+v", merged.Config)
	}
	if !base.DeferredInit || len(base.Keys()) != 0 {
		t.Errorf("the base changed: %+v", base.Config)
	}
}

// TestPagesFromElsewhere keeps web pages from waking a server that wants no
// key, also requests that gave their own name the machine's address.
func TestPagesFromElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		origin, host string
		want         int
	}{
		"no page":               {"", "127.0.0.1:8000", 200},
		"a page of the machine": {"http://localhost:3000", "127.0.0.1:8000", 200},
		"another page":          {"https://evil.example", "127.0.0.1:8000", 403},
		"another name":          {"", "evil.example:8000", 403},
		"its own name":          {"http://evil.example:8000", "evil.example:8000", 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Config{}
			s, err := deferredinit.New(deferredinit.Options{
				Key: func() (string, bool) { return "", true }, Host: cfg.Names,
				Start: func(context.Context, deferredinit.Request) (http.Handler, error) { return http.NotFoundHandler(), nil },
			})
			must.Succeed(t, err)
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/init", strings.NewReader(`{}`))
			r.Host = c.host
			r.Header.Set("Content-Type", "text/plain")
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.want || s.Ready() != (c.want == 200) {
				t.Errorf("%d %s, awake %v", w.Code, w.Body, s.Ready())
			}
		})
	}
}
