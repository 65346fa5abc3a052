package confirmation_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// cell is an action of another tool that runs code.
type cell struct {
	event.ActionBase
	Code string `json:"code"`
}

func (*cell) Kind() string   { return "CellAction" }
func (c *cell) Runs() string { return c.Code }

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
		{&event.TerminalAction{Command: "sh x", IsInput: true}, run("sh x"), "exactly this", false},
		{edit("create", "/w/a"), edit("create", "/w/b"), "new files", true},
		{edit("create", "/w/a"), edit("str_replace", "/w/b"), "new files", false},
		{edit("insert", "/w/a"), edit("str_replace", "/w/b"), "edits of files", true},
		{edit("view", "/w/a"), edit("view", "/w/b"), "reading files", true},
		{&event.MCPToolAction{}, &event.MCPToolAction{}, "the tool tool", true},
		{&cell{Code: "1 + 1"}, &cell{Code: "1 + 1"}, "exactly this", true},
		{&cell{Code: "1 + 1"}, &cell{Code: "!rm -r x"}, "exactly this", false},
	} {
		given, other := ask(c.given), ask(c.other)
		if given.Kind != c.kind || (confirmation.Grants{given.Grant()}).Cover(other) != c.covers {
			t.Errorf("%+v, %+v: kind %q, want that it covers: %v", c.given, c.other, given.Kind, c.covers)
		}
	}
}

// TestUnseenKind offers no answer for later where a part of the action is not shown.
func TestUnseenKind(t *testing.T) {
	t.Parallel()
	q := asked(t, &event.ActionEvent{Action: &event.TerminalAction{Command: "python3 -c '" + strings.Repeat("x", 300<<10) + "'"}})
	if q.Omitted == 0 || q.Kind != "" || q.Exactly || (confirmation.Grants{q.Grant()}).Cover(q) {
		t.Errorf("%d bytes are omitted, kind %q", q.Omitted, q.Kind)
	}
	if err := (confirmation.Answer{Choice: confirmation.Always}).Check(q); !fault.Is(err, fault.Invalid) {
		t.Errorf("always: %v", err)
	}
	for _, c := range []confirmation.Choice{confirmation.Once, confirmation.Reject} {
		if err := (confirmation.Answer{Choice: c}).Check(q); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	if err := (confirmation.Answer{Choice: "maybe"}).Check(q); !fault.Is(err, fault.Invalid) {
		t.Errorf("maybe: %v", err)
	}
}
