package standard

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
)

// TestOwnHome has a home in memory: a file of a command there is named once, and the editor
// writes nothing there.
func TestOwnHome(t *testing.T) {
	t.Parallel()
	home, err := os.MkdirTemp("/dev/shm", "deft-home-") //nolint:usetesting // a directory in memory
	if err != nil {
		t.Skip("no directory in memory:", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	workspace := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(filepath.Join(home, "there"), 0o755); err != nil {
		t.Fatal(err)
	}
	system := func(path string) bool { return process.IsSystemPath(path) }
	h := newOwnHome(workspace, home, system)
	if h == nil || h.written() != "" {
		t.Fatal("a home in memory is not the sandbox's own, or has been written to")
	}
	for _, name := range []string{".settings", "report.txt"} {
		if err := os.WriteFile(filepath.Join(home, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.written(); !strings.HasPrefix(got, home+"/report.txt will be lost") || !strings.Contains(got, workspace) || !strings.Contains(got, "--write DIR") {
		t.Errorf("%q", got)
	}
	if got := h.written(); got != "" {
		t.Errorf("again: %q", got)
	}
	// The directory around a workspace in memory is the sandbox's own as well.
	if err := os.MkdirAll(filepath.Join(home, "src/project"), 0o755); err != nil {
		t.Fatal(err)
	}
	around := newOwnHome(filepath.Join(home, "src/project"), "", func(path string) bool { return path == home })
	if err := os.Mkdir(filepath.Join(home, "src/other"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := around.written(); !strings.HasPrefix(got, home+"/src/other will be lost") || !around.loses(home+"/src/other/x") || around.loses(home+"/src/project/x") {
		t.Errorf("around the workspace: %q", got)
	}
	inner := &recorded{}
	x := explained{inner, pathHint{}, h}
	for path, lost := range map[string]bool{
		filepath.Join(home, "notes.md"): true, filepath.Join(home, "new/dir/notes.md"): true, filepath.Join(home, ".bashrc"): true,
		filepath.Join(workspace, "notes.md"): false, "/etc/notes.md": false, "notes.md": false,
	} {
		for _, command := range []string{event.EditCreate, event.EditView} {
			inner.calls = 0
			obs, err := x.Execute(t.Context(), tool.Call{Action: &event.FileEditorAction{Command: command, Path: path}})
			if err != nil {
				t.Fatal(err)
			}
			refused := lost && command != event.EditView
			if r := obs.Result(); r.IsError != refused || (inner.calls == 0) != refused || refused && !strings.Contains(event.JoinText(r.Content), "--write DIR") {
				t.Errorf("%s %s: %+v, %d calls", command, path, r, inner.calls)
			}
		}
	}
	if newOwnHome(home, home, system) != nil || newOwnHome(workspace, "/proc", system) != nil || newOwnHome(workspace, "", system) != nil {
		t.Error("another home is the sandbox's own")
	}
}

type recorded struct{ calls int }

func (r *recorded) Execute(context.Context, tool.Call) (event.Observation, error) {
	r.calls++
	return &event.FileEditorObservation{}, nil
}

func (r *recorded) Close() error { return nil }
