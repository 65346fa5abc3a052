package appserver_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

// shared is the server of tests that need no options. It starts with the first of them and
// ends after the last one.
var shared sharedServer

type sharedServer struct {
	mu     sync.Mutex
	server *server
}

// get starts the server, unless it runs.
func (s *sharedServer) get() (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return s.server, nil
	}
	dir, err := os.MkdirTemp("", "deft-appserver-")
	if err == nil {
		s.server, err = run(options{dir: dir})
	}
	return s.server, err
}

// close ends the server and removes its files.
func (s *sharedServer) close() error {
	if s.server == nil {
		return nil
	}
	err := s.server.end()
	if err != nil {
		err = fmt.Errorf("%w; it said at last:\n%s", err, s.server.lastWords())
	}
	return errors.Join(err, os.RemoveAll(s.server.data))
}

// join gives a test an account on the shared server, whose LLM follows a script. When the
// test ends, the account's conversations are deleted, with their sandboxes' processes.
func join(t *testing.T, script string) deployment {
	t.Helper()
	parsed, err := llmtest.Parse([]byte(script))
	must.Succeed(t, err)
	s, err := shared.get()
	must.Succeed(t, err)
	at, err := url.Parse(s.url)
	must.Succeed(t, err)
	jar, err := cookiejar.New(nil)
	must.Succeed(t, err)
	session := rand.Text()
	addCredential(t, s, "owner-"+session, "cookie", session)
	jar.SetCookies(at, []*http.Cookie{{Name: "deft_session", Value: session}})
	d := deployment{s, llmtest.Start(t, parsed), &client{http: &http.Client{Jar: jar}}}
	t.Cleanup(d.owner.http.CloseIdleConnections)
	d.owner.do(t, "POST", s.url+"/api/v1/settings", map[string]any{"agent_settings_diff": map[string]any{
		"llm": map[string]any{"model": "openai/scripted", "base_url": d.llm.URL + "/v1", "api_key": "k"},
	}}, nil)
	t.Cleanup(func() { d.deleteAll(t) })
	return d
}
