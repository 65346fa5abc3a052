package terminal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

// TestShells holds that agents of one sandbox have shells of their own, and that those that
// are not used end.
func TestShells(t *testing.T) {
	t.Parallel()
	x := terminal.NewShells(terminal.Config{WorkingDir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}})
	t.Cleanup(func() { must.Report(t, x.Close()) })
	run := func(agent, command string) string {
		t.Helper()
		obs, err := x.Execute(t.Context(), tool.Call{
			ID: event.NewID(), Agent: agent, Action: &event.TerminalAction{Command: command}, Progress: func(tool.Chunk) {},
		})
		must.Succeed(t, err)
		return strings.TrimSpace(event.JoinText(obs.Result().Content))
	}
	run("", "mark=parent; cd /")
	run("a", "mark=child")
	if got := run("", "echo $mark $PWD"); got != "parent /" {
		t.Errorf("the first shell: %q", got)
	}
	if got := run("a", "echo $mark"); got != "child" {
		t.Errorf("the other shell: %q", got)
	}
	for i := range terminal.MaxShells {
		run(fmt.Sprint("b", i), "true")
	}
	if got := run("a", "echo ${mark-none}"); got != "none" {
		t.Errorf("the shell that was not used: %q", got)
	}
	if got := run(fmt.Sprint("b", terminal.MaxShells-1), "echo ${mark-none}; mark=x"); got != "none" {
		t.Errorf("the last shell: %q", got)
	}
}
