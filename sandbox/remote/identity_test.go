package remote_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/remote"
)

// TestGitIdentity: sandboxes get the user's name and address, and nothing else of the
// configuration.
func TestGitIdentity(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const config = "[user]\n\tname = Ada Lovelace\n\temail = ada@example.com\n\tsigningkey = SECRET\n[credential]\n\thelper = SECRET\n"
	must.Succeed(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600))
	for name, c := range map[string]struct {
		home string
		off  bool
		env  []string
		want map[string]string
	}{
		"configured": {home: home, want: map[string]string{
			"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ada Lovelace", "GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "ada@example.com",
		}},
		"given": {home: home, env: []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"}, want: map[string]string{
			"GIT_CONFIG_COUNT": "3", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c",
			"GIT_CONFIG_KEY_1": "user.name", "GIT_CONFIG_VALUE_1": "Ada Lovelace", "GIT_CONFIG_KEY_2": "user.email", "GIT_CONFIG_VALUE_2": "ada@example.com",
		}},
		"given nonsense": {home: home, env: []string{"GIT_CONFIG_COUNT=x"}, want: map[string]string{"GIT_CONFIG_COUNT": "x"}},
		"not configured": {home: t.TempDir()},
		"not asked":      {home: home, off: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got struct{ Environment map[string]string }
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/start" {
					http.NotFound(w, r)
					return
				}
				must.Report(t, json.NewDecoder(r.Body).Decode(&got))
				http.Error(w, "{}", http.StatusUnprocessableEntity)
			}))
			defer api.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			p, err := remote.New(remote.Options{
				Dir: filepath.Join(t.TempDir(), "remote"), URL: api.URL, Key: key, KeyName: "KEY", Transport: transport, GitIdentity: !c.off, Home: c.home,
			})
			must.Succeed(t, err)
			defer p.Close()
			_, err = p.Start(t.Context(), sandbox.Spec{ID: "x", Workspace: "/workspace", Env: c.env, Argv: []string{"/usr/bin/deft", "action-server"}})
			if err == nil {
				t.Fatal("it started")
			}
			maps.DeleteFunc(got.Environment, func(name, _ string) bool { return !strings.HasPrefix(name, "GIT_") })
			if diff := cmp.Diff(c.want, got.Environment, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
