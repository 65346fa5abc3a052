package build_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/tool"
)

// TestSavedOutputIsMasked: the file with the whole of a long output has no secrets, and
// where the output is cut no half of one is left.
func TestSavedOutputIsMasked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	execs, err := build.NewExecutors(build.ExecutorConfig{Workspace: t.TempDir(), Scratch: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "SENT=told-before"}})
	must.Succeed(t, err)
	x := executor.New(execs, executor.InMemory())
	defer func() { must.Report(t, x.Close(t.Context())) }()
	x.Mask("told-before")
	if _, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "first", Action: &event.TerminalAction{Command: "true"}}}); err != nil {
		t.Fatal(err)
	}
	obs, err := x.Execute(t.Context(), tool.Request{Call: tool.Call{
		ID: "second", Secrets: tool.Secrets{"TOKEN": "hush-hush"},
		Action: &event.TerminalAction{Command: `for i in $(seq 3000); do echo "line $i: $TOKEN $SENT"; done`},
	}})
	must.Succeed(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "output", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	saved, err := os.ReadFile(files[0])
	must.Succeed(t, err)
	for name, text := range map[string]string{"file": string(saved), "observation": event.JoinText(obs.Result().Content)} {
		if !strings.Contains(text, "line 2999: "+secret.Hidden+" "+secret.Hidden) {
			t.Errorf("%s: the end is missing: %.300q", name, text)
		}
		for _, value := range []string{"hush", "told"} {
			if i := strings.Index(text, value); i >= 0 {
				t.Errorf("%s: %q is in it: %q", name, value, text[max(0, i-40):min(len(text), i+40)])
			}
		}
	}
}
