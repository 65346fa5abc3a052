package mcp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/internal/oauthtest"
	"github.com/deft-dev/deft/tool/mcp"
)

// TestPool has conversations of one owner share a session, which ends with the last of them. All have
// the tools that change. Other owners and other configurations have sessions of their own.
func TestPool(t *testing.T) {
	t.Parallel()
	server := newServer()
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	var begun, ended atomic.Int64
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "":
			begun.Add(1)
		case r.Method == http.MethodDelete:
			ended.Add(1)
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	pool := &mcp.Pool{}
	changed := make(chan string, 100)
	open := func(owner string, config mcp.Server) *mcp.Set {
		t.Helper()
		return connect(t, map[string]mcp.Server{"web": config}, mcp.Options{Pool: pool, Owner: owner, Changed: func(s *mcp.Set, _ mcp.Change) { changed <- owner + " " + names(s) }})
	}
	config := mcp.Server{URL: h.URL, Transport: mcp.HTTP}
	var shared [3]*mcp.Set
	var all sync.WaitGroup
	for i := range shared {
		all.Go(func() { shared[i] = open("ada", config) })
	}
	all.Wait()
	if n := begun.Load(); n != 1 {
		t.Errorf("%d sessions for one owner", n)
	}
	open("bob", config).Close()
	open("ada", mcp.Server{URL: h.URL, Transport: mcp.HTTP, Headers: map[string]string{"X-Other": "1"}}).Close()
	if b, e := begun.Load(), ended.Load(); b != 3 || e != 2 {
		t.Errorf("%d sessions have begun and %d ended, want 3 and 2", b, e)
	}
	shared[0].Close() // it has opened the session, perhaps
	shared[0].Close()
	server.RemoveTools("die", "env", "fail", "picture")
	for n := 0; n < 2; {
		if <-changed == "ada echo wait" {
			n++
		}
	}
	for _, set := range shared[1:] {
		if got := ask(t, set, "echo", `{"text":"hi"}`); got.IsError {
			t.Errorf("echo: %+v", got)
		}
		set.Close()
	}
	if b, e := begun.Load(), ended.Load(); b != 3 || e != 3 {
		t.Errorf("%d sessions have begun and %d ended, want 3 of both", b, e)
	}
	if got := ask(t, open("ada", config), "echo", `{"text":"hi"}`); got.IsError || begun.Load() != 4 {
		t.Errorf("after the end of all: %+v, %d sessions", got, begun.Load())
	}
}

// TestPoolSecrets: a conversation that joins a session, and one that shares it, are told of its
// login's secrets, renewed ones too, so that results are masked in all of them.
func TestPoolSecrets(t *testing.T) {
	t.Parallel()
	as := oauthtest.Start(t, overSessions(t))
	logins := &kept{all: map[string]json.RawMessage{}}
	config := mcp.Server{URL: as.URL, Transport: mcp.HTTP}
	if _, err := logIn(t, as, config, logins, nil); err != nil {
		t.Fatal(err)
	}
	pool := &mcp.Pool{}
	var tracked [2]lockedBuffer
	var sets [2]*mcp.Set
	for i := range sets {
		sets[i] = connect(t, map[string]mcp.Server{"web": config}, mcp.Options{Pool: pool, Logins: logins, Track: func(values ...string) {
			_, _ = tracked[i].Write([]byte(strings.Join(values, "\n") + "\n"))
		}})
	}
	as.Expire()
	if got := ask(t, sets[0], "echo", `{"text":"hi"}`); got.IsError || as.Renewed() != 1 {
		t.Errorf("echo: %+v, renewed %d times", got, as.Renewed())
	}
	for i := range tracked {
		if n := strings.Count(tracked[i].String(), "access-"); n < 2 {
			t.Errorf("set %d was told of %d access tokens, want both", i, n)
		}
	}
}
