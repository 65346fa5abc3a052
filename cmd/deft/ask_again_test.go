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

// inTerminal runs a command in a terminal and gives answers to the questions, each of which must be there
// when it is answered. It returns the output.
func (b *bench) inTerminal(t *testing.T, args []string, questions ...[2]string) string {
	t.Helper()
	cmd := b.command(t, args...)
	tty, err := pty.Start(cmd)
	must.Succeed(t, err)
	p := follow(cmd, tty)
	for i, q := range questions {
		p.until(t, q[0])
		p.untilTimes(t, "Use them in this project?", i+1)
		_, err = tty.WriteString(q[1] + "\n")
		must.Succeed(t, err)
	}
	code, out := p.wait(t)
	if code != 0 || strings.Count(out, "Use them in this project?") != len(questions) {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	return out
}

// TestAskedAgain continues a conversation whose project has changed its hooks, MCP servers and agents since the user
// allowed them: the user is asked as at the beginning, and the former programs do not run beside the allowed ones.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	var turns strings.Builder
	for _, word := range []string{"go", "more", "again", "still"} {
		turns.WriteString(strings.ReplaceAll(`
  - {match: {user: WORD, tool_results: N}, reply: {tool_calls: [{name: task, arguments: {prompt: look, subagent_type: looker}}]}}
  - {match: {system: LOOKER}, reply: {tool_calls: [{name: terminal, arguments: {command: "true"}}]}}
  - {match: {system: LOOKER}, reply: {tool_calls: [{name: finish, arguments: {message: looked}}]}}
  - {match: {user: WORD}, reply: {text: "all done"}}`, "WORD", word))
	}
	text := turns.String()
	for n := range 4 {
		text = strings.Replace(text, "tool_results: N", "tool_results: "+string(rune('0'+n)), 1)
	}
	b := newBench(t, text)
	project := func(version string) {
		testtree.Write(t, b.ws, map[string]string{
			".agents/agents/looker.md": "---\nname: looker\nhooks: {PreToolUse: [{matcher: terminal, hooks: [{command: echo agent " + version + " >> ran}]}]}\n---\nLOOKER RULES",
			".openhands/hooks.json":    `{"SessionStart": [{"hooks": [{"command": "echo session ` + version + ` >> ran"}]}]}`,
			".mcp.json":                `{"mcpServers": {"` + version + `": {"command": "/no/such/` + version + `"}}}`,
		})
	}
	ran := func(want string) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(b.ws, "ran"))
		if strings.Join(strings.Fields(string(got)), " ") != want {
			t.Errorf("%q ran, %v, want %q", got, err, want)
		}
		must.Succeed(t, os.Remove(filepath.Join(b.ws, "ran")))
	}
	ask := func(version, answer string) [][2]string {
		return [][2]string{{"/no/such/" + version, answer}, {"runs echo session " + version, answer}, {"runs echo agent " + version, answer}}
	}
	project("one")
	out := b.inTerminal(t, []string{"run", "go"}, ask("one", "y")...)
	ran("session one agent one")
	if !strings.Contains(out, "MCP server one") {
		t.Errorf("the server was not started:\n%s", out)
	}

	project("two")
	out = b.run(t, 0, "run", "--resume", "last", "more") // without a terminal: as allowed before, but for the definition
	ran("session one")
	if !strings.Contains(out, ".mcp.json are not used") || !strings.Contains(out, "MCP server one") || strings.Contains(out, "MCP server two") {
		t.Errorf("without a terminal:\n%s", out)
	}
	out = b.inTerminal(t, []string{"run", "--resume", "last", "again"}, ask("two", "y")...)
	ran("session two agent two")
	if !strings.Contains(out, "MCP server two") || strings.Contains(out, "MCP server one") {
		t.Errorf("a yes to others:\n%s", out)
	}
	out = b.inTerminal(t, []string{"run", "--resume", "last", "still"}) // nothing is new
	ran("session two agent two")
	if !strings.Contains(out, "MCP server two") {
		t.Errorf("nothing new:\n%s", out)
	}
}

// TestOwnPluginComesFirst asks nothing about an agent and a plugin of the project whose names the user's own have: these
// are used.
func TestOwnPluginComesFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: go, tool_results: 0}, reply: {tool_calls: [{name: task, arguments: {prompt: look, subagent_type: looker}}]}}
  - {match: {system: MINE}, reply: {tool_calls: [{name: finish, arguments: {message: looked}}]}}
  - {match: {user: go}, reply: {text: "all done"}}
`)
	hooks := "hooks: {SessionStart: [{hooks: [{command: touch ran}]}]}"
	testtree.Write(t, b.ws, map[string]string{
		".agents/agents/looker.md":               "---\nname: looker\n" + hooks + "\n---\nTHEIRS",
		".agents/plugins/same/.mcp.json":         `{"mcpServers": {"theirs": {"command": "theirs"}}}`,
		".agents/plugins/same/agents/another.md": "---\nname: another\n---\nTHEIRS",
	})
	testtree.Write(t, b.home, map[string]string{".agents/plugins/same/agents/looker.md": "---\nname: looker\n---\nMINE"})
	out := b.inTerminal(t, []string{"run", "go"})
	if !strings.Contains(out, "all done") || strings.Contains(out, "MCP server theirs") {
		t.Error(out)
	}
}
