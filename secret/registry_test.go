package secret_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/secret"
)

func static(name, value string) secret.Named {
	return secret.Named{Name: name, Source: secret.Static(value, "of "+name)}
}

func lookup(name, url string, headers map[string]string) secret.Named {
	return secret.Named{Name: name, Source: secret.Source{Kind: secret.KindLookup, URL: url, Headers: headers}}
}

func TestEnv(t *testing.T) {
	t.Parallel()
	var warned []string
	r := secret.NewRegistry(secret.Options{Warn: func(name string, err error) {
		warned = append(warned, name+": "+err.Error())
	}})
	r.Set(static("TOKEN", "1"), static("Github_Key", "2"), static("not a name", "3"), static("EMPTY", ""), static("", "4"))
	for command, want := range map[string]map[string]string{
		"":                                nil,
		"ls":                              nil,
		"echo $TOKEN":                     {"TOKEN": "1"},
		"echo token":                      {"TOKEN": "1"},
		"my_tokens and GITHUB_KEY, EMPTY": {"TOKEN": "1", "Github_Key": "2"},
		"not a name":                      nil,
	} {
		if diff := cmp.Diff(want, r.Env(t.Context(), command)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", command, diff)
		}
	}
	if len(warned) != 1 || !strings.HasPrefix(warned[0], "not a name: ") {
		t.Errorf("warned of %q", warned)
	}
	r.Set(static("TOKEN", "new-value"))
	if diff := cmp.Diff([]string{"TOKEN", "Github_Key", "not a name", "EMPTY", ""}, r.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := r.Infos()[1]; got != (secret.Info{Name: "Github_Key", Description: "of Github_Key"}) {
		t.Errorf("info: %+v", got)
	}
	if got := r.Mask("1 new-value"); got != secret.Hidden+" "+secret.Hidden {
		t.Errorf("former and current value: %q", got)
	}
	if got := r.All(t.Context(), "TOKEN", "", "not a name"); !cmp.Equal(got, map[string]string{"Github_Key": "2"}) {
		t.Errorf("all: %v", got)
	}
	var none *secret.Registry
	if none.Env(t.Context(), "TOKEN") != nil || none.Mask("x") != "x" || none.Stream().Feed("x") != "x" {
		t.Error("no registry is not one without secrets")
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked.Add(1)
		switch q.URL.Path {
		case "/redirect":
			http.Redirect(w, q, "/value", http.StatusFound)
		case "/fail":
			http.Error(w, "looked-up", http.StatusTeapot)
		case "/long":
			fmt.Fprint(w, strings.Repeat("x", 300<<10))
		default:
			fmt.Fprint(w, "looked-up "+q.Header.Get("X-Key"))
		}
	}))
	defer srv.Close()
	var mu sync.Mutex
	var warned []string
	r := secret.NewRegistry(secret.Options{
		Warn: func(name string, err error) {
			mu.Lock()
			defer mu.Unlock()
			warned = append(warned, name+": "+string(fault.KindOf(err))+": "+err.Error())
		},
		Local: func(_ context.Context, url string) (string, bool) {
			name, ok := secret.LocalName("http://127.0.0.1:8000", url)
			return "own " + name, ok
		},
	})
	r.Set(lookup("A", srv.URL+"/value?q=hush", map[string]string{"X-Key": "k"}),
		lookup("OWN", "http://localhost:8000/api/settings/secrets/N", nil),
		lookup("REDIRECT", srv.URL+"/redirect?q=hush", nil), lookup("FAIL", srv.URL+"/fail?q=hush", nil),
		lookup("LONG", srv.URL+"/long", nil), lookup("GONE", "http://127.0.0.1:1/?q=hush", nil), lookup("BAD", "file:///etc/passwd", nil))
	if got := r.Mask("looked-up k"); got != "looked-up k" || asked.Load() != 0 {
		t.Errorf("masking has asked: %q", got)
	}
	for range 2 {
		want := map[string]string{"A": "looked-up k", "OWN": "own N"}
		if diff := cmp.Diff(want, r.Env(t.Context(), "$A $OWN")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	if got := r.Mask("looked-up k, own N"); got != secret.Hidden+", "+secret.Hidden {
		t.Errorf("mask: %q", got)
	}
	if got := r.Env(t.Context(), "redirect fail long gone bad"); got["FAIL"]+got["REDIRECT"]+got["LONG"]+got["GONE"]+got["BAD"] != "" {
		t.Errorf("got %v", got)
	}
	r.Set(lookup("MOVED", "http://127.0.0.1:1/api/settings/secrets/M", nil), lookup("OTHER", srv.URL+"/api/settings/secrets/N", nil))
	want := map[string]string{"MOVED": "own M", "OTHER": "looked-up "}
	if diff := cmp.Diff(want, r.Env(t.Context(), "$MOVED $OTHER")); diff != "" {
		t.Errorf("of another port (-want +got):\n%s", diff)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(warned) != 5 || strings.Contains(strings.Join(warned, " "), "hush") {
		t.Errorf("warned of %q", warned)
	}
}

func TestLocalName(t *testing.T) {
	t.Parallel()
	const server = "http://127.0.0.1:8000"
	for url, want := range map[string]string{
		server + "/api/settings/secrets/N":                 "N",
		"http://localhost:8000/api/settings/secrets/a%20b": "a b",
		"http://[::1]:8000/api/settings/secrets/N":         "N",
		"https://127.0.0.1:8000/api/settings/secrets/N":    "",
		"http://127.0.0.1/api/settings/secrets/N":          "",
		"http://example.com:8000/api/settings/secrets/N":   "",
		server + "/api/settings/secrets/":                  "",
		server + "/api/settings/secrets/N/more":            "",
		server + "/api/settings":                           "",
		"/api/settings/secrets/N":                          "N",
		"%":                                                "",
	} {
		name, ok := secret.LocalName(server, url)
		if name != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", url, name, ok)
		}
	}
	if name, ok := secret.LocalName("http://h", "http://h:80/api/settings/secrets/N"); !ok || name != "N" {
		t.Errorf("default port: %q", name)
	}
}

// transport answers lookups without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestLookupTime lets time pass: the cache, its end, and the limit.
func TestLookupTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		hang := false
		var warned []error
		r := secret.NewRegistry(secret.Options{
			Client: &http.Client{Transport: transport(func(q *http.Request) (*http.Response, error) {
				if hang {
					<-q.Context().Done()
					return nil, q.Context().Err()
				}
				n++
				w := httptest.NewRecorder()
				fmt.Fprintf(w, "value-%d", n)
				return w.Result(), nil
			})},
			Warn: func(_ string, err error) { warned = append(warned, err) },
		})
		r.Set(lookup("A", "http://h/", nil))
		for _, want := range []string{"value-1", "value-1", "value-2"} {
			if got, ok := r.Value(t.Context(), "A"); !ok || got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			time.Sleep(40 * time.Second)
		}
		hang = true
		time.Sleep(time.Minute)
		began := time.Now()
		if got, ok := r.Value(t.Context(), "A"); ok || time.Since(began) != 30*time.Second {
			t.Errorf("got %q after %v", got, time.Since(began))
		}
		if len(warned) != 1 || fault.KindOf(warned[0]) != fault.Timeout {
			t.Errorf("warned of %v", warned)
		}
		if got := r.Mask("value-1 value-2"); strings.Contains(got, "value") {
			t.Errorf("former values are shown: %q", got)
		}
	})
}

// TestLookupTogether: of several who want a value one asks; if it leaves,
// another does.
func TestLookupTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		answer := make(chan string)
		r := secret.NewRegistry(secret.Options{Client: &http.Client{Transport: transport(func(q *http.Request) (*http.Response, error) {
			asked.Add(1)
			select {
			case <-q.Context().Done():
				return nil, q.Context().Err()
			case v := <-answer:
				w := httptest.NewRecorder()
				fmt.Fprint(w, v)
				return w.Result(), nil
			}
		})}})
		r.Set(lookup("A", "http://h/", nil))
		leaving, leave := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, ok := r.Value(leaving, "A"); ok {
				t.Error("who left has a value")
			}
		})
		synctest.Wait()
		for range 3 {
			wg.Go(func() {
				if got, _ := r.Value(t.Context(), "A"); got != "v" {
					t.Errorf("got %q", got)
				}
			})
		}
		synctest.Wait()
		leave(errors.New("bye"))
		synctest.Wait()
		answer <- "v"
		wg.Wait()
		if asked.Load() != 2 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

// TestForgetsFormer bounds the leftovers of a secret that changes all the time.
func TestForgetsFormer(t *testing.T) {
	t.Parallel()
	n := 0
	r := secret.NewRegistry(secret.Options{Refresh: -1, Local: func(context.Context, string) (string, bool) {
		n++
		return fmt.Sprintf("value-%06d", n), true
	}})
	r.Set(lookup("A", "http://h/", nil), static("S", "value-000001"))
	for range 300 {
		r.Value(t.Context(), "A")
	}
	for text, masked := range map[string]bool{"value-000001": true, "value-000002": false, "value-000290": true, "value-000300": true} {
		if got := r.Mask(text) == secret.Hidden; got != masked {
			t.Errorf("%s masked: %v", text, got)
		}
	}
}

func TestRace(t *testing.T) {
	t.Parallel()
	r := secret.NewRegistry(secret.Options{Local: func(_ context.Context, url string) (string, bool) { return url, true }})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s := r.Stream()
			for n := range 30 {
				name := fmt.Sprintf("N%d", n%10)
				r.Set(static(name, fmt.Sprintf("value-%d-%d", i, n)), lookup("L"+name, "http://h/"+name, nil))
				for _, v := range r.Env(t.Context(), name) {
					if got := r.Mask(v); got == v {
						t.Errorf("%s is not masked", v)
					}
				}
				s.Feed("value-1-")
				s.Flush()
			}
		})
	}
	wg.Wait()
}

func TestGuard(t *testing.T) {
	t.Parallel()
	r := secret.NewRegistry(secret.Options{})
	r.Set(static("TOKEN", "hush"))
	g := secret.Guard{Registry: r}
	for name, tt := range map[string]struct {
		a    event.Action
		want map[string]string
	}{
		"command": {&event.TerminalAction{Command: "echo $TOKEN"}, map[string]string{"TOKEN": "hush"}},
		"other":   {&event.TerminalAction{Command: "ls"}, nil},
		"input":   {&event.TerminalAction{Command: "TOKEN", IsInput: true}, nil},
		"thought": {&event.ThinkAction{Thought: "TOKEN"}, nil},
		"nothing": {nil, nil},
	} {
		if diff := cmp.Diff(tt.want, g.Secrets(t.Context(), tt.a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	ev := &event.AgentErrorEvent{Base: event.NewBase(event.SourceAgent), Error: "no hush"}
	if got := g.Mask(ev).(*event.AgentErrorEvent); got.Error != "no "+secret.Hidden {
		t.Errorf("mask: %q", got.Error)
	}
}
