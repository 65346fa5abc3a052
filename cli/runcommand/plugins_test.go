package runcommand

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/settings/permission"
	"github.com/deft-dev/deft/subagent"
)

// TestProjectAgents asks about the hooks and MCP servers of a project's agents, and again when they change.
func TestProjectAgents(t *testing.T) {
	t.Parallel()
	dir, answers := t.TempDir(), permission.Open(t.TempDir(), nil)
	agents := filepath.Join(dir, ".agents", "agents")
	must.Succeed(t, os.MkdirAll(agents, 0o700))
	write(t, filepath.Join(agents, "plain.md"), "---\nname: plain\n---\nlook")
	looker := "---\nname: looker\nhooks: {SessionStart: [{hooks: [{command: ./COMMAND}]}]}\nmcp_servers: {db: {command: db-server}}\n---\nlook"
	write(t, filepath.Join(agents, "looker.md"), strings.Replace(looker, "COMMAND", "first", 1))
	const question = "The project has hooks and MCP servers (.agents/agents/looker.md)."
	for _, step := range []struct {
		answers []string
		allowed int
		told    []string
	}{
		{nil, 0, []string{"hooks and MCP servers of the project's .agents/agents/looker.md are not used; a yes in a terminal allows them"}},
		{[]string{"y"}, 1, []string{question, "    hook at SessionStart: runs ./first", "db-server"}},
		{nil, 1, nil},
	} {
		allowed, told := askAboutAgents(t, dir, answers, step.answers)
		if len(allowed) != step.allowed {
			t.Errorf("%+v: %q", step, allowed)
		}
		for _, want := range step.told {
			if !strings.Contains(told, want) {
				t.Errorf("told %q, want %q", told, want)
			}
		}
		if len(step.told) == 0 && told != "" || strings.Contains(told, "plain") {
			t.Errorf("told %q", told)
		}
	}
	write(t, filepath.Join(agents, "looker.md"), strings.Replace(looker, "COMMAND", "second", 1))
	if allowed, told := askAboutAgents(t, dir, answers, []string{"n"}); len(allowed) != 0 || !strings.Contains(told, question) {
		t.Errorf("other hooks: %q, told %q", allowed, told)
	}
}

func askAboutAgents(t *testing.T, dir string, answers *permission.Store, typed []string) (allowed []string, told string) {
	t.Helper()
	var lines strings.Builder
	p := Project{Dir: dir, Answers: answers, Tell: func(s string) { lines.WriteString(s + "\n") }}
	if typed != nil {
		p.Prompter = &script{answers: typed}
	}
	found, _ := subagent.Catalog{}.List(subagent.Query{Project: true, ProjectDir: dir})
	allowed, err := p.Agents(t.Context(), found)
	must.Succeed(t, err)
	return allowed, lines.String()
}
