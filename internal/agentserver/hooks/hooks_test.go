package hooks_test

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

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/hooks"
	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// project returns a directory with a hooks.json.
func project(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".openhands"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".openhands/hooks.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAnswers compares with what the reference answers.
func TestAnswers(t *testing.T) {
	t.Parallel()
	server, err := rest.New(rest.Options{Routes: hooks.Routes(slog.New(slog.DiscardHandler)), Keys: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	outside := project(t, `{"stop":[{"hooks":[{"command":"x"}]}]}`)
	linked := t.TempDir()
	if err := os.Symlink(outside+"/.openhands", linked+"/.openhands"); err != nil {
		t.Fatal(err)
	}
	const none = `{"hook_config":null}`
	for dir, want := range map[string]string{
		project(t, `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"x","timeout":5}]}]}}`): `{"hook_config":{"pre_tool_use":[{"matcher":"*","hooks":[{"type":"command","name":null,"command":"x","prompt":null,"system_prompt":null,"tools":[],"timeout":5,"max_iterations":3,"async":false}]}],"post_tool_use":[],"user_prompt_submit":[],"session_start":[],"session_end":[],"stop":[]}}`,
		project(t, `{}`):                                  none,
		project(t, `{"stop":[]}`):                         none,
		project(t, `null`):                                none,
		project(t, `{`):                                   none,
		project(t, `{"stop":[{"hooks":[{}]}]}`):           none,
		project(t, `{"stop":[{"hooks":[{"type":"x"}]}]}`): none,
		t.TempDir():                                       none,
		"/nowhere":                                        none,
		"":                                                none,
		linked:                                            none,
	} {
		body, err := json.Marshal(map[string]string{"project_dir": dir})
		if err != nil {
			t.Fatal(err)
		}
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

func TestParse(t *testing.T) {
	t.Parallel()
	for raw, why := range map[string]string{
		`[]`:                        "not an object",
		`{"hooks":1}`:               "not an object",
		`{"Moon":[]}`:               `no hook event "Moon"`,
		`{"Stop":[],"stop":[]}`:     "twice",
		`{"stop":null}`:             "must be a list",
		`{"stop":[{"hooks":null}]}`: "must be a list",
		`{"stop":[{"hooks":[{"type":"prompt"}]}]}`:                           "'prompt' is required",
		`{"stop":[{"hooks":[{"type":"agent","command":"x"}]}]}`:              "must not be set",
		`{"stop":[{"hooks":[{"type":"prompt","prompt":"x","async":true}]}]}`: "not supported",
	} {
		if _, err := hooks.Parse(json.RawMessage(raw)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: error %v, want one with %q", raw, err, why)
		}
	}
	if c, err := hooks.Parse(json.RawMessage("null")); c != nil || err != nil {
		t.Errorf("null: %v, %v", c, err)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	a, err := hooks.Parse(json.RawMessage(`{"stop":[{"hooks":[{"command":"a"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := hooks.Merge(a, nil, a)
	if len(got.Stop) != 2 || got.PreToolUse == nil || hooks.Merge(nil, &hooks.Config{}) != nil {
		t.Errorf("merged: %+v", got)
	}
}

// FuzzParse holds that what is read can be read again.
func FuzzParse(f *testing.F) {
	f.Add(`{"hooks":{"PreToolUse":[{"hooks":[{"command":"x","async_":true}]}]}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		c, err := hooks.Parse(json.RawMessage(raw))
		if err != nil || c == nil {
			return
		}
		out, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := hooks.Parse(out)
		if diff := cmp.Diff(c, again); err != nil || diff != "" {
			t.Fatalf("%s: %v\n%s", out, err, diff)
		}
	})
}
