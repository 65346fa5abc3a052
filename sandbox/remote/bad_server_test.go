package remote

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
)

// badServer is a Runtime API without a network, so that time is a bubble's.
type badServer struct {
	answer func(w http.ResponseWriter, r *http.Request, n int) error // n counts requests of a path from 1 on

	mu    sync.Mutex
	asked map[string]int
	all   []string
}

func (s *badServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	path := r.URL.Host + r.URL.Path
	s.asked[path]++
	n := s.asked[path]
	s.all = append(s.all, r.Method+" "+path)
	s.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	if err := s.answer(w, r, n); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (s *badServer) provider(t *testing.T) *Provider {
	t.Helper()
	p, err := New(Options{Dir: t.TempDir(), URL: "https://api.test", Key: "the-key", KeyName: "KEY_NAME", Transport: s})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, p.Close()) })
	return p
}

func reply(w http.ResponseWriter, status int, v any) error {
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v)
}

type anything map[string]any

// TestRetries: passing failures are tried again, for a bounded time; lasting ones are an
// error at once.
func TestRetries(t *testing.T) {
	t.Parallel()
	text := func(status int, body string) func(http.ResponseWriter) error {
		return func(w http.ResponseWriter) error {
			w.WriteHeader(status)
			_, err := w.Write([]byte(body))
			return err
		}
	}
	busy := func(w http.ResponseWriter) error {
		w.Header().Set("Retry-After", "7")
		return reply(w, http.StatusTooManyRequests, anything{"detail": "quota: 3 runtimes"})
	}
	reset := func(http.ResponseWriter) error { return syscall.ECONNRESET }
	for name, c := range map[string]struct {
		answer        func(http.ResponseWriter) error
		times         int // of that answer; then it is good
		kind          fault.Kind
		text          string
		tries         int
		atLeast, most time.Duration
	}{
		"bad gateway for a while": {text(502, "<html>"), 5, "", "", 6, 0, 30 * time.Second},
		"unavailable":             {text(503, ""), 2, "", "", 3, 0, 5 * time.Second},
		"connection reset":        {reset, 3, "", "", 4, 0, 10 * time.Second},
		"busy once":               {busy, 1, "", "", 2, 7 * time.Second, 8 * time.Second},
		"quota":                   {busy, 99, fault.RateLimit, "quota: 3 runtimes", 3, 14 * time.Second, 16 * time.Second},
		"never":                   {text(502, ""), 99, fault.Unavailable, "", 0, 20 * time.Second, 31 * time.Second},
		"never there":             {reset, 99, fault.Unavailable, "https://api.test does not answer", 0, 20 * time.Second, 31 * time.Second},
		"wrong key":               {text(401, ""), 99, fault.Denied, "refuses the key", 1, 0, 0},
		"forbidden":               {text(403, ""), 99, fault.Denied, "refuses the key", 1, 0, 0},
		"unknown":                 {text(404, `{"detail":"no runtime"}`), 99, fault.NotFound, "no runtime", 1, 0, 0},
		"not offered":             {text(501, `{"detail":"no images"}`), 99, fault.Unsupported, "no images", 1, 0, 0},
		"list of errors":          {text(422, `{"detail":[{"msg":"bad"}]}`), 99, fault.Invalid, `[{"msg":"bad"}]`, 1, 0, 0},
		"broken":                  {text(500, "boom"), 99, fault.Internal, "boom", 1, 0, 0},
		"another server":          {text(200, "<html>"), 99, fault.Corrupt, "something else", 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &badServer{answer: func(w http.ResponseWriter, _ *http.Request, n int) error {
					if n <= c.times {
						return c.answer(w)
					}
					return reply(w, 200, anything{"runtimes": []any{}})
				}}
				p := s.provider(t)
				began := time.Now()
				_, err := p.List(t.Context())
				took := time.Since(began)
				if c.kind == "" && err != nil || c.kind != "" && (!fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.text)) {
					t.Errorf("%v", err)
				}
				if err != nil && strings.Contains(err.Error()+fault.HintOf(err), "the-key") {
					t.Errorf("the error shows the key: %v", err)
				}
				if n := s.asked["api.test/list"]; c.tries > 0 && n != c.tries || n > 30 {
					t.Errorf("%d tries", n)
				}
				if took < c.atLeast || took > c.most {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func start(ctx context.Context, p *Provider) (sandbox.Sandbox, error) {
	return p.Start(ctx, sandbox.Spec{ID: "x", Argv: []string{"/deft", "action-server"}, Workspace: "/workspace"})
}

// TestFailedStarts: each has a reason, within the time-out.
func TestFailedStarts(t *testing.T) {
	t.Parallel()
	runs := anything{"runtime_id": "r", "url": "https://runtime.test", "session_api_key": "k", "status": "running", "working_dir": "/workspace"}
	as := func(more anything) anything {
		all := anything{}
		for _, m := range []anything{runs, more} {
			maps.Copy(all, m)
		}
		return all
	}
	for name, c := range map[string]struct {
		status int
		start  anything
		// runtime is how the runtime's address answers.
		runtime int
		kind    fault.Kind
		text    string
		took    time.Duration
		stopped bool
	}{
		"starts for ever":   {200, as(anything{"status": "starting"}), 0, fault.Timeout, "within 5m0s", 5 * time.Minute, false},
		"never alive":       {200, runs, 502, fault.Timeout, "within 5m0s", 5 * time.Minute, false},
		"dies at its start": {200, as(anything{"status": "stopped", "reason": "out of memory"}), 0, fault.Unavailable, "out of memory", 0, false},
		"unknown image":     {422, anything{"detail": "fetch image x:1"}, 0, fault.Invalid, "fetch image x:1", 0, false},
		"no image":          {404, anything{"detail": "no image x:1"}, 0, fault.NotFound, "no image x:1", 0, false},
		"another directory": {200, as(anything{"working_dir": "/srv"}), 0, fault.Unsupported, "no /workspace", 0, true},
		"no runtime":        {200, anything{}, 0, fault.Corrupt, "names no runtime", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &badServer{answer: func(w http.ResponseWriter, r *http.Request, _ int) error {
					switch {
					case r.URL.Host == "runtime.test":
						return reply(w, c.runtime, anything{})
					case r.URL.Path == "/start":
						return reply(w, c.status, c.start)
					case r.URL.Path == "/stop":
						return reply(w, 200, anything{})
					}
					return reply(w, 404, anything{"detail": "no session"})
				}}
				began := time.Now()
				got, err := start(t.Context(), s.provider(t))
				if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v, %v", got, err)
				}
				if took := time.Since(began); took < c.took || took > c.took+time.Second {
					t.Errorf("it took %v", took)
				}
				if stopped := slices.Contains(s.all, "POST api.test/stop"); stopped != c.stopped {
					t.Errorf("stopped: %v, %v", stopped, s.all)
				}
			})
		})
	}
}

// TestStopRetried: a stop is repeated until the API has answered; a runtime that is gone is
// as good.
func TestStopRetried(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]int{"stopped": 200, "gone": 404} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &badServer{answer: func(w http.ResponseWriter, r *http.Request, n int) error {
					switch {
					case r.URL.Path == "/start":
						return reply(w, 422, anything{"detail": "the mark stays"})
					case r.URL.Path == "/stop" && n < 3:
						return errors.New("connection reset")
					case r.URL.Path == "/stop":
						return reply(w, last, anything{})
					case n > 1:
						return reply(w, 200, anything{"runtime_id": "r", "status": "running"})
					}
					return reply(w, 404, anything{})
				}}
				p := s.provider(t)
				if _, err := start(t.Context(), p); !fault.Is(err, fault.Invalid) {
					t.Fatal(err)
				}
				if err := p.Remove(t.Context(), "x"); err != nil || s.asked["api.test/stop"] != 3 {
					t.Errorf("%v, %v", err, s.all)
				}
			})
		})
	}
}

// TestCanceled: who gives up does not wait for the next try.
func TestCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &badServer{answer: func(w http.ResponseWriter, _ *http.Request, _ int) error { return reply(w, 502, anything{}) }}
		p := s.provider(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := p.List(ctx); err == nil || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
