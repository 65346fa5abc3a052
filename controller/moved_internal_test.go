package controller

import (
	"testing"

	"github.com/deft-dev/deft/event"
)

func TestMovedText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/old":                      "/new/dir",
		"cat /old/a /old/b":         "cat /new/dir/a /new/dir/b",
		"--dir=/old":                "--dir=/new/dir",
		"It is in /old.":            "It is in /new/dir.",
		"/old.bak /older /old-1":    "/old.bak /older /old-1",
		"/home/old /x/old relative": "/home/old /x/old relative",
		`{"path":"/old/a"}`:         `{"path":"/new/dir/a"}`,
		"/old:/old/bin":             "/new/dir:/new/dir/bin",
		"/old/../old/x/old":         "/new/dir/../old/x/old",
	} {
		if got := movedText(in, "/old", "/new/dir"); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// ranIn is a command with the directory that it ended in.
func ranIn(command, dir string) event.Event {
	o := &event.TerminalObservation{Command: &command}
	o.Metadata.WorkingDir = &dir
	ev := &event.ObservationEvent{Base: event.NewBase(event.SourceEnvironment), Observation: o}
	ev.ToolName, ev.ToolCallID = "terminal", "1"
	return ev
}

func TestRecordedWorkspace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, dir, want string }{
		{"ls", "/w", "/w"},
		{"cd /w && ls", "/w", "/w"},
		{"cd src/a && ls", "/w/src/a", "/w"},
		{"cd ./src/ && ls", "/w/src", "/w"},
		{"mkdir -p src && cd src && pwd", "/w/src", "/w"},
		{"cd src; ls; cd a", "/w/src/a", "/w"},
		{"cd src && cd ..", "/w", "/w"},
		{"ls", "/", ""},
		{"ls", "", ""},
	} {
		if got := RecordedWorkspace([]event.Event{ranIn(c.command, c.dir)}); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.command, c.dir, got, c.want)
		}
	}
}

// TestToldWorkspace believes the system prompt before the first command, which may have changed the directory in
// any way.
func TestToldWorkspace(t *testing.T) {
	t.Parallel()
	prompt := &event.SystemPromptEvent{DynamicContext: &event.Content{Text: "<RUNTIME_INFORMATION>\nWorking directory: /w/my project\nCommands run in: a sandbox"}}
	if got := RecordedWorkspace([]event.Event{prompt, ranIn("pushd sub", "/w/my project/sub")}); got != "/w/my project" {
		t.Errorf("%q", got)
	}
}
