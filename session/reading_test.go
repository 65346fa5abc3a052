package session

import (
	"testing"

	"github.com/deft-dev/deft/event"
)

func TestReadsOnly(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"ls -la": true, "pwd && ls; cat a | head -5": true, "git status": true, "git log -3\ngit diff": true, "rg -n todo src": true, "find . -name x": true,
		"": false, "make": false, "ls > x": false, "cat a | tee b": false, "ls $(make)": false, "ls & make": false, "find . -delete": false,
		"find . -exec rm x": false, "git checkout x": false, "git diff --output x": false, "git": false, "rg --pre=x y": false, "A=1 ls": false,
		"ls `x`": false, "! ls": false, "(ls)": false, "\"ls\"": false, "ls\nrm x": false,
	} {
		if got := readsOnly(&event.ActionEvent{Action: &event.TerminalAction{Command: command}}); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
	for _, c := range []struct {
		action event.Action
		want   bool
	}{
		{&event.ReadFileAction{}, true}, {&event.ListDirectoryAction{}, true}, {&event.WriteFileAction{}, false}, {&event.EditAction{}, false}, {&event.ApplyPatchAction{}, false},
		{&event.PlanningFileEditorAction{Command: event.EditView}, true}, {&event.PlanningFileEditorAction{Command: event.EditCreate}, false},
		{&event.FileEditorAction{Command: event.EditView}, true}, {&event.FileEditorAction{Command: event.EditCreate}, false},
		{&event.GlobAction{}, true}, {&event.MCPToolAction{}, false}, {&event.TerminalAction{Command: "ls", IsInput: true}, false}, {nil, false},
	} {
		if got := readsOnly(&event.ActionEvent{Action: c.action}); got != c.want {
			t.Errorf("%T: %v", c.action, got)
		}
	}
}
