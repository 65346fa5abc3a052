package remote_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var think = &event.ThinkAction{Thought: "x"}

const done = `{"observation":{"content":[{"type":"text","text":"done"}],"is_error":false,"kind":"ThinkObservation"}}` + "\n"

// dialed returns a Runtime whose server is handler.
func dialed(t *testing.T, handler http.HandlerFunc) *remote.Runtime {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return open(t, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
	})
}

func open(t *testing.T, dial func(context.Context) (net.Conn, error)) *remote.Runtime {
	t.Helper()
	rt, err := remote.New(remote.Options{Dial: dial, Reconnect: time.Nanosecond})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, rt.Close()) })
	return rt
}

// onlyActions keeps the lease of a test's Runtime away from its handler.
func onlyActions(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/lease" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		h(w, r)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		want   fault.Kind
	}{
		"html error page":   {502, "<html>Bad Gateway</html>\n", fault.Corrupt},
		"empty object":      {200, "{}\n", fault.Corrupt},
		"nothing":           {200, "", fault.Unavailable},
		"only progress":     {200, `{"chunk":{"text":"x"}}` + "\n", fault.Unavailable},
		"half a line":       {200, done[:40], fault.Unavailable},
		"no observation":    {200, `{"observation":7}` + "\n", fault.Invalid},
		"error with a kind": {409, `{"error":{"kind":"conflict","message":"m"}}` + "\n", fault.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := dialed(t, onlyActions(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			}))
			_, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: think}})
			if !fault.Is(err, tc.want) {
				t.Errorf("got error %v of kind %s, want %s", err, fault.KindOf(err), tc.want)
			}
			if errors.Is(err, runtime.ErrNotSent) {
				t.Error("the error denies that the action was sent")
			}
		})
	}
}

// TestRepeatsAreMarked has the server drop the first request half way.
func TestRepeatsAreMarked(t *testing.T) {
	t.Parallel()
	var bodies []string
	rt := dialed(t, onlyActions(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		must.Report(t, err)
		bodies = append(bodies, string(raw))
		if len(bodies) == 1 {
			_, _ = io.WriteString(w, `{"chunk":{"text":"first "}}`+"\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"chunk":{"text":"second"}}`+"\n"+done)
	}))
	rt.Ack("old1", "old2")
	var shown strings.Builder
	obs, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: think, Progress: func(c tool.Chunk) { shown.WriteString(c.Text) }}})
	if err != nil || event.JoinText(obs.Result().Content) != "done" {
		t.Fatalf("got %v, %v", obs, err)
	}
	want := []string{
		`{"action":{"thought":"x","kind":"ThinkAction"},"ack":["old1","old2"]}`,
		`{"action":{"thought":"x","kind":"ThinkAction"},"again":true}`,
	}
	if diff := cmp.Diff(want, bodies); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if shown.String() != "first second" {
		t.Errorf("shown %q", shown.String())
	}
}

// TestAcksAreNotLost has no server for the first request.
func TestAcksAreNotLost(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	got := make(chan string, 1)
	leases := make(chan struct{}, 10)
	handler := onlyActions(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		must.Report(t, err)
		got <- string(raw)
		_, _ = io.WriteString(w, done)
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/lease" {
			leases <- struct{}{}
		}
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	down := errors.New("no server")
	rt := open(t, func(ctx context.Context) (net.Conn, error) {
		if !up.Load() {
			return nil, down
		}
		return new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
	})
	rt.Ack("old")
	_, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: think}})
	if !fault.Is(err, fault.Unavailable) || !errors.Is(err, runtime.ErrNotSent) || !errors.Is(err, down) {
		t.Errorf("got error %v", err)
	}
	up.Store(true)
	if _, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "a", Action: think}, Again: true, Tail: true}); err != nil {
		t.Fatal(err)
	}
	want := `{"action":{"thought":"x","kind":"ThinkAction"},"again":true,"tail":true,"ack":["old"]}`
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	<-leases // it came back by the request's success
}

func TestCloseHandsOverAcks(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	rt := dialed(t, onlyActions(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		must.Report(t, err)
		got <- r.URL.Path + " " + string(raw)
	}))
	rt.Ack("a", "b")
	must.Succeed(t, rt.Close())
	if diff := cmp.Diff(`/v1/ack {"ack":["a","b"]}`, <-got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestNewNeedsDial(t *testing.T) {
	t.Parallel()
	if _, err := remote.New(remote.Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("got error %v", err)
	}
}
