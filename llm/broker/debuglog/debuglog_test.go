package debuglog_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
	"github.com/deft-dev/deft/llm/broker/debuglog"
	"github.com/deft-dev/deft/llm/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = llm.Secret(`sk-"odd"/key+0123456789`)

func open(t *testing.T, o debuglog.Options) (*debuglog.Log, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	o.OnError = func(err error) { t.Error(err) }
	l, err := debuglog.Open(dir, o)
	must.Succeed(t, err)
	return l, dir
}

// read returns the exchanges of a directory, and their text.
func read(t *testing.T, dir string) (all []debuglog.Exchange, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	must.Succeed(t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		must.Succeed(t, err)
		if st, err := os.Stat(f); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode of %s: %v, %v", f, st.Mode(), err)
		}
		var x debuglog.Exchange
		must.Succeed(t, json.Unmarshal(b, &x))
		all, text = append(all, x), text+string(b)
	}
	return all, text
}

// TestAdapters logs the exchanges of real adapters, with the key in prompts.
func TestAdapters(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Reply: llmtest.Reply{Text: "You said {{.LastUser}}."}}}})
	l, dir := open(t, debuglog.Options{})
	client := l.Client(0, key)
	defer client.CloseIdleConnections()
	chat, err := openai.New(llm.Config{Model: "openai/gpt-4o", BaseURL: srv.URL + "/v1", APIKey: key, HTTPClient: client})
	must.Succeed(t, err)
	messages, err := anthropic.New(llm.Config{Model: "anthropic/claude-sonnet-4-5", BaseURL: srv.URL, APIKey: key, HTTPClient: client})
	must.Succeed(t, err)
	r := llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts("my key is " + key.Reveal() + ", see?")}}}
	for _, m := range []llm.Model{chat, messages} {
		for _, r.NoStream = range []bool{true, false} {
			resp, err := llm.Complete(t.Context(), m, r, nil)
			if err != nil || !strings.Contains(event.JoinText(resp.Message.Content), key.Reveal()) {
				t.Fatalf("the log changed the call: %v, %v", resp, err)
			}
		}
	}
	all, text := read(t, dir)
	if len(all) != 4 {
		t.Fatalf("%d exchanges", len(all))
	}
	for _, x := range all {
		if x.Request.Method != "POST" || x.Response == nil || x.Response.Status != 200 || x.Seconds <= 0 ||
			!strings.Contains(string(x.Request.Body), "my key is [redacted], see?") || !strings.Contains(string(x.Response.Body), "You said") {
			t.Errorf("%+v", x)
		}
	}
	for _, part := range []string{key.Reveal(), "0123456789", `sk-\"odd`, `sk-\\\"odd`} {
		if strings.Contains(text, part) {
			t.Errorf("the key, or part of it, is in the log: %s", part)
		}
	}
}

func TestCredentialsAreRemoved(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=hidden-cookie")
		w.Header().Set("X-Ratelimit-Remaining-Tokens", "4711")
		fmt.Fprint(w, "echo: ", r.Header.Get("X-Goog-Api-Key"), " ", r.Header.Get("Authorization"), " ", r.URL.Query().Get("key"), " and text")
	}))
	defer srv.Close()
	l, dir := open(t, debuglog.Options{})
	client := &http.Client{Transport: l.Transport(srv.Client().Transport)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/v1?key=hidden-query&alt=sse", nil)
	must.Succeed(t, err)
	for name, value := range map[string]string{
		"Authorization": "Bearer hidden-bearer", "X-Api-Key": "hidden-xapi", "Api-Key": "hidden-api", "X-Goog-Api-Key": "hidden-goog",
		"Cookie": "a=hidden-sent", "X-Amz-Security-Token": "hidden-amz", "X-Note": "shown, but not hidden-goog",
	} {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	must.Succeed(t, err)
	body, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(body), "hidden-goog Bearer hidden-bearer hidden-query") {
		t.Fatalf("%s, %v", body, err)
	}
	must.Succeed(t, res.Body.Close())
	all, text := read(t, dir)
	if len(all) != 1 || strings.Contains(text, "hidden-") {
		t.Errorf("%d exchanges: %s", len(all), text)
	}
	for _, want := range []string{"alt=sse", "4711", "and text", "shown, but not [redacted]"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
}

// TestLongBodiesAreCut repeats keys so that one is at the cut.
func TestLongBodiesAreCut(t *testing.T) {
	t.Parallel()
	const secret = llm.Secret("abcdefghijklmnopqrstuvwxyz0123456789")
	for _, pad := range []int{0, 1, 7, 20, 35} {
		body := strings.Repeat("-", pad) + strings.Repeat(secret.Reveal()+" ", 100)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
		l, dir := open(t, debuglog.Options{MaxBody: 1_000})
		client := &http.Client{Transport: l.Transport(srv.Client().Transport, secret)}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader(body))
		must.Succeed(t, err)
		res, err := client.Do(req)
		must.Succeed(t, err)
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		srv.Close()
		all, text := read(t, dir)
		if len(all) != 1 || !all[0].Request.Cut || !all[0].Response.Cut || len(all[0].Response.Body) > 1_010 {
			t.Errorf("%+v", all)
		}
		if strings.Contains(text, "abc") {
			t.Errorf("pad %d: part of the key is in the log: %s", pad, text)
		}
	}
}

func TestConnectionThatFails(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	l, dir := open(t, debuglog.Options{})
	client := l.Client(time.Second)
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	must.Succeed(t, err)
	if res, err := client.Do(req); err == nil {
		res.Body.Close()
		t.Fatal("no error")
	}
	if all, _ := read(t, dir); len(all) != 1 || all[0].Response != nil || !strings.Contains(all[0].Error, "refused") {
		t.Errorf("%+v", all)
	}
}

// TestOldFilesAreRemoved checks the limits of an existing log, and that other
// files are kept.
func TestOldFilesAreRemoved(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") }))
	defer srv.Close()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	o := debuglog.Options{MaxFiles: 5, Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}}
	l, dir := open(t, o)
	foreign := filepath.Join(dir, "notes.json")
	must.Succeed(t, os.WriteFile(foreign, []byte(`{}`), 0o600))
	for round := range 2 {
		var wg sync.WaitGroup
		client := &http.Client{Transport: l.Transport(srv.Client().Transport)}
		for range 8 {
			wg.Go(func() {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
				if err != nil {
					t.Error(err)
					return
				}
				res, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
			})
		}
		wg.Wait()
		if all, _ := read(t, dir); len(all) != 6 {
			t.Errorf("round %d: %d files", round, len(all))
		}
		var err error
		if l, err = debuglog.Open(dir, o); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}
