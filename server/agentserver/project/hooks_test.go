package project_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/project"
	"github.com/deft-dev/deft/server/rest"
)

// withHooks returns a directory with a hooks.json.
func withHooks(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, ".openhands"), 0o755))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, ".openhands/hooks.json"), []byte(text), 0o644))
	return dir
}

// TestAnswers compares with the reference's answers.
func TestHooks(t *testing.T) {
	t.Parallel()
	server, err := rest.New(rest.Options{Routes: project.Hooks(slog.New(slog.DiscardHandler), nil), Keys: func() []string { return nil }})
	must.Succeed(t, err)
	outside := withHooks(t, `{"stop":[{"hooks":[{"command":"x"}]}]}`)
	linked := t.TempDir()
	must.Succeed(t, os.Symlink(outside+"/.openhands", linked+"/.openhands"))
	const none = `{"hook_config":null}`
	for dir, want := range map[string]string{
		withHooks(t, `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"x","timeout":5}]}]}}`): `{"hook_config":{"pre_tool_use":[{"matcher":"*","hooks":[{"type":"command","name":null,"command":"x","prompt":null,"system_prompt":null,"tools":[],"timeout":5,"max_iterations":3,"async":false}]}],"post_tool_use":[],"user_prompt_submit":[],"session_start":[],"session_end":[],"stop":[]}}`,
		withHooks(t, `{}`):                                  none,
		withHooks(t, `{"stop":[]}`):                         none,
		withHooks(t, `null`):                                none,
		withHooks(t, `{`):                                   none,
		withHooks(t, `{"stop":[{"hooks":[{}]}]}`):           none,
		withHooks(t, `{"stop":[{"hooks":[{"type":"x"}]}]}`): none,
		t.TempDir():                                         none,
		"/nowhere":                                          none,
		"":                                                  none,
		linked:                                              none,
	} {
		body, err := json.Marshal(map[string]string{"project_dir": dir})
		must.Succeed(t, err)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("POST", "/api/hooks", strings.NewReader(string(body))))
		if got, err := io.ReadAll(w.Body); err != nil || w.Code != 200 || string(got) != want {
			t.Errorf("%s: %d, %v (-want +got):\n%s", dir, w.Code, err, cmp.Diff(want, string(got)))
		}
	}
	for body, want := range map[string]int{`{}`: 200, `{"project_dir":null}`: 200, `{"project_dir":1}`: 422, ``: 422, `null`: 422} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("POST", "/api/hooks", strings.NewReader(body)))
		if w.Code != want {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
}
