package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
)

// TestConfirm answers in a terminal: one command is refused with a reason that
// the agent reads, one is accepted, and after Ctrl-C at a third the conversation
// waits for the next run.
func TestConfirm(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: go, tool_results: 0}, reply: {tool_calls: [{name: terminal, arguments: {command: "touch refused", security_risk: HIGH}}]}}
  - {match: {tool_result: not that one}, reply: {tool_calls: [{name: terminal, arguments: {command: "touch accepted", security_risk: LOW}}]}}
  - {match: {tool_results: 2}, reply: {tool_calls: [{name: terminal, arguments: {command: "touch later", security_risk: LOW}}]}}
  - {match: {tool_results: 3}, reply: {tool_calls: [{name: finish, arguments: {message: "all done"}}]}}
`)
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(b.ws, name))
		return err == nil
	}
	cmd := b.command(t, "run", "--confirm", "always", "go")
	tty, err := pty.Start(cmd)
	must.Succeed(t, err)
	p := follow(cmd, tty)
	say := func(text string) {
		t.Helper()
		if _, err := tty.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	p.untilTimes(t, "Run it?", 1)
	p.until(t, "terminal (risk: HIGH)")
	p.until(t, "touch refused")
	say("n\n")
	p.until(t, "Why not?")
	say("not that one\n")
	p.untilTimes(t, "Run it?", 2)
	if exists("refused") || exists("accepted") {
		t.Error("a command ran that nobody has accepted")
	}
	say("y\n")
	p.untilTimes(t, "Run it?", 3)
	if !exists("accepted") {
		t.Error("the accepted command did not run")
	}
	say("\x03") // Ctrl-C
	code, out := p.wait(t)
	if code != 130 || !strings.Contains(out, "to go on: deft run --resume ") || exists("later") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	// Nobody can be asked, so it goes on waiting.
	if out := b.run(t, 5, "run", "--resume", "last"); !strings.Contains(out, "there is no terminal to ask in") || exists("later") {
		t.Errorf("without a terminal:\n%s", out)
	}
	if out := b.run(t, 0, "undo", "--list"); !strings.Contains(out, "  go") {
		t.Errorf("no checkpoint was taken after the refusal:\n%s", out)
	}
	if out := b.run(t, 0, "run", "--resume", "last", "--confirm", "never"); !strings.Contains(out, "all done") || !exists("later") {
		t.Errorf("accepted by a flag:\n%s", out)
	}
}

// TestAskedInTerminal answers a question of the agent.
func TestAskedInTerminal(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: go}, reply: {text: "Which one?"}}
  - {match: {user: the second}, reply: {tool_calls: [{name: finish, arguments: {message: "all done"}}]}}
`)
	cmd := b.command(t, "run", "go")
	tty, err := pty.Start(cmd)
	must.Succeed(t, err)
	p := follow(cmd, tty)
	p.until(t, "Your answer")
	if _, err := tty.WriteString("the second\n"); err != nil {
		t.Fatal(err)
	}
	if code, out := p.wait(t); code != 0 || !strings.Contains(out, "all done") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestAllowAgent asks in a terminal about the hooks of a project's agent, which run after a yes, also in the
// next conversation.
func TestAllowAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {system: LOOKER}, reply: {tool_calls: [{name: terminal, arguments: {command: "true"}}]}}
  - {match: {system: LOOKER}, reply: {tool_calls: [{name: finish, arguments: {message: looked}}]}}
  - {match: {user: go, tool_results: 0}, reply: {tool_calls: [{name: task, arguments: {prompt: look, subagent_type: looker}}]}}
  - {match: {user: go}, reply: {tool_calls: [{name: finish, arguments: {message: "all done"}}]}}
  - {match: {user: more, tool_results: 0}, reply: {tool_calls: [{name: task, arguments: {prompt: look, subagent_type: looker}}]}}
  - {match: {system: LOOKER}, reply: {tool_calls: [{name: terminal, arguments: {command: "true"}}]}}
  - {match: {system: LOOKER}, reply: {tool_calls: [{name: finish, arguments: {message: looked}}]}}
  - {match: {user: more}, reply: {tool_calls: [{name: finish, arguments: {message: "all done"}}]}}
`)
	testtree.Write(t, b.ws, map[string]string{
		".agents/agents/looker.md": "---\nname: looker\nhooks: {PreToolUse: [{matcher: terminal, hooks: [{command: echo x >> ran}]}]}\n---\nLOOKER RULES",
	})
	cmd := b.command(t, "run", "go")
	tty, err := pty.Start(cmd)
	must.Succeed(t, err)
	p := follow(cmd, tty)
	p.until(t, "PreToolUse of terminal: runs echo x >> ran")
	p.until(t, "Use them in this project?")
	_, err = tty.WriteString("y\n")
	must.Succeed(t, err)
	if code, out := p.wait(t); code != 0 || !strings.Contains(out, "all done") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	b.run(t, 0, "run", "more")
	if got, err := os.ReadFile(filepath.Join(b.ws, "ran")); string(got) != "x\nx\n" {
		t.Errorf("the hook has written %q, %v", got, err)
	}
}
