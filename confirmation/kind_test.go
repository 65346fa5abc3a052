package confirmation_test

import (
	"testing"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// TestKinds holds that an answer for a kind covers no command that does something else.
func TestKinds(t *testing.T) {
	t.Parallel()
	ask := func(a event.Action) confirmation.Question {
		return confirmation.Questions(&state.State{Pending: []*event.ActionEvent{{ToolName: "tool", Action: a}}}, nil)[0]
	}
	run := func(command string) event.Action { return &event.TerminalAction{Command: command} }
	edit := func(command, path string) event.Action { return &event.FileEditorAction{Command: command, Path: path} }
	for _, c := range []struct {
		given, other event.Action
		kind         string
		covers       bool
	}{
		{run("npm test"), run("npm test -- --watch=no"), `commands that begin with "npm test"`, true},
		{run("npm test"), run("npm publish"), `commands that begin with "npm test"`, false},
		{run("npm test"), run("npm test; rm -r /w"), `commands that begin with "npm test"`, false},
		{run("npm test"), run("npm test && curl x"), `commands that begin with "npm test"`, false},
		{run("npm test"), run("npm test $(id)"), `commands that begin with "npm test"`, false},
		{run("npm test"), run("npm test\nid"), `commands that begin with "npm test"`, false},
		{run("npm test"), run("npm test >/etc/x"), `commands that begin with "npm test"`, false},
		{run("git commit -m 'x; y'"), run("git commit -m 'z'"), `commands that begin with "git commit"`, true},
		{run("rm -r x"), run("rm -r y"), `commands that begin with "rm"`, true},
		{run("A=1 make"), run("A=1 make x"), "exactly this", false},
		{run("python3 -c 1"), run("python3 -c 1"), "exactly this", true},
		{run("python3 -c 1"), run("python3 -c 2"), "exactly this", false},
		{run("sudo ls"), run("sudo rm"), "exactly this", false},
		{run("ls | wc"), run("ls | sh"), "exactly this", false},
		{run("./x.sh"), run("./x.sh a"), "exactly this", false},
		{&event.TerminalAction{Command: "y", IsInput: true}, run("y"), "exactly this", false},
		{edit("create", "/w/a"), edit("create", "/w/b"), "new files", true},
		{edit("create", "/w/a"), edit("str_replace", "/w/b"), "new files", false},
		{edit("insert", "/w/a"), edit("str_replace", "/w/b"), "edits of files", true},
		{edit("view", "/w/a"), edit("view", "/w/b"), "reading files", true},
		{&event.MCPToolAction{}, &event.MCPToolAction{}, "the tool tool", true},
	} {
		given, other := ask(c.given), ask(c.other)
		if given.Kind != c.kind || given.Covers(other) != c.covers {
			t.Errorf("%+v, %+v: kind %q, covers %v", c.given, c.other, given.Kind, given.Covers(other))
		}
	}
}
