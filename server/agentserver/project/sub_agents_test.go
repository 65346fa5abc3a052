package project_test

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/server/agentserver/project"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/subagent"
)

const reviewer = "---\nname: rev\ndescription: Reviews <example>use me</example>\ntools: terminal, file_editor\nmodel: inherit\ncolor: red\nmax_iteration_per_run: 5\n---\nYou review.\n"

// TestAnswers compares with the reference's answers.
func TestSubAgents(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	outside := t.TempDir()
	testtree.Write(t, outside, map[string]string{"secret.md": "outside"})
	testtree.Write(t, home, map[string]string{
		"ws/.openhands/agents/rev.md":  reviewer,
		"ws/.agents/agents/README.md":  "no agent",
		"ws/.agents/agents/bad.md":     "---\npermission_mode: maybe\n---\n",
		".agents/agents/rev.md":        "the user's",
		".openhands/agents/mine.md":    "mine",
		".openhands/agents/deep/no.md": "too deep",
	})
	must.Succeed(t, os.Symlink(outside+"/secret.md", home+"/ws/.agents/agents/steal.md"))
	server, err := rest.New(rest.Options{
		Routes: project.SubAgents(slog.New(slog.DiscardHandler), subagent.NewCatalog(home, home+"/.openhands"), nil),
		Keys:   func() []string { return nil },
	})
	must.Succeed(t, err)
	ask := func(body string) string {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("POST", "/api/sub-agents", strings.NewReader(body)))
		if w.Code != 200 {
			return w.Body.String()
		}
		return strings.ReplaceAll(w.Body.String(), home, "HOME")
	}
	project := `"project_dir":` + quote(home+"/ws")
	want := `{"agents":[{"name":"rev","description":"Reviews <example>use me</example>","model":"inherit","color":"red","tools":["terminal, file_editor"],"skills":[],"system_prompt":"You review.","when_to_use_examples":["use me"],"permission_mode":null,"max_iteration_per_run":5,"max_budget_per_run":null,"mcp_config":null,"mcp_servers":null,"profile_store_dir":null,"hooks":null,"condenser":null,"metadata":{},"level":"project","source":"HOME/ws/.openhands/agents/rev.md","is_builtin":false}]}`
	if diff := cmp.Diff(want, ask(`{"load_builtin":false,"load_user":false,`+project+`}`)); diff != "" {
		t.Errorf("project (-want +got):\n%s", diff)
	}
	names := func(body string) string {
		var got struct {
			Agents []subagent.Definition `json:"agents"`
		}
		must.Succeed(t, json.Unmarshal([]byte(ask(body)), &got))
		var out []string
		for _, a := range got.Agents {
			out = append(out, a.Name+" "+*a.Level)
		}
		return strings.Join(out, ", ")
	}
	for body, want := range map[string]string{
		`{` + project + `}`:                        "rev project, mine user, bash-runner builtin, code-explorer builtin, general-purpose builtin, web-researcher builtin",
		`{"load_user":false}`:                      "bash-runner builtin, code-explorer builtin, general-purpose builtin, web-researcher builtin",
		`{"load_builtin":false}`:                   "rev user, mine user",
		`{"load_builtin":false,"load_user":false}`: "",
	} {
		if got := names(body); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if got := ask(`null`); !strings.Contains(got, "detail") {
		t.Errorf("null: %s", got)
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
