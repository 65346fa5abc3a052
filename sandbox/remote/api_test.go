package remote_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/remote"
)

// zeros is endless.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// TestHostileAPI: the key is for one address, and answers are bounded.
func TestHostileAPI(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   fault.Kind
	}{
		"redirect": {http.RedirectHandler(other.URL, http.StatusTemporaryRedirect).ServeHTTP, fault.Invalid},
		"endless":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, zeros{}) }, fault.Corrupt},
		"no JSON":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, fault.Corrupt},
		"no id":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"status":"running"}`) }, fault.Corrupt},
		"elsewhere": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"status":"running","runtime_id":"r","url":"ftp://x","session_api_key":"k"}`)
		}, fault.Corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := httptest.NewServer(c.answer)
			defer api.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			p, err := remote.New(remote.Options{Dir: filepath.Join(t.TempDir(), "remote"), URL: api.URL, Key: key, KeyName: "KEY", Transport: transport})
			must.Succeed(t, err)
			defer p.Close()
			s, err := p.Start(t.Context(), sandbox.Spec{ID: "x", Workspace: "/workspace", Argv: []string{"/usr/bin/deft", "action-server"}})
			if err == nil || strings.Contains(err.Error(), key) {
				t.Errorf("%v, %v", s, err)
			}
			if fault.KindOf(err) != c.kind {
				t.Errorf("%s: %v", fault.KindOf(err), err)
			}
		})
	}
	t.Cleanup(func() {
		if n := elsewhere.Load(); n > 0 {
			t.Errorf("%d redirects were followed", n)
		}
	})
}
