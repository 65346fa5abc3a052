package session_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/permission"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/subagent"
	"github.com/deft-dev/deft/workspace"
)

// lending are programs that sub-agents share.
type lending struct{ programs }

func (l lending) Guest(ctx context.Context, r session.BuildRequest) (session.Resources, error) {
	guest, err := l.Resources.(session.Host).Guest(ctx, r)
	return programs{guest, l.mu, l.ran}, err
}

// TestProjectParts runs the hooks of a project's plugin and of its agents' definitions once the owner has allowed
// them, in this conversation and in the next ones, from a copy that the agent cannot change.
func TestProjectParts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ran []string
	copies := t.TempDir()
	h := setup(t, inTurn(
		shell("push"), says("pushed"),
		shell("push"), says("stopped"),
		does("task", `{"prompt":"look","subagent_type":"looker"}`), shell("push"), finished("looked"), says("given"),
		shell("push"), says("stopped"),
		shell("push"), says("pushed"),
	), func(o *session.Options) {
		o.Permissions = answered{permission.Open(t.TempDir(), nil)}
		o.Plugins = plugin.NewCatalog("", t.TempDir(), copies)
	})
	h.extend = func(r session.Resources) session.Resources { return lending{programs{r, &mu, &ran}} }
	ranNow := func() []string {
		mu.Lock()
		defer mu.Unlock()
		now := ran
		ran = nil
		return now
	}
	hook := func(command string) string {
		return `{"hooks":{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"` + command + `"}]}]}}`
	}
	testtree.Write(t, h.work, map[string]string{
		".agents/plugins/rules/hooks/hooks.json": hook("${CLAUDE_PLUGIN_ROOT}/no-push"),
		".agents/plugins/rules/commands/go.md":   "go on",
		".agents/agents/other.md":                "---\nname: other\ndescription: d\nmcp_servers: {db: {command: of-other}}\n---\nlook",
		".agents/agents/looker.md":               "---\nname: looker\ndescription: d\nhooks: {SessionStart: [{hooks: [{command: ./of-looker}]}]}\nmcp_servers: {db: {command: db-server}}\n---\nlook",
	})
	asked := func(c *session.Conversation) (all []session.ProjectPart) {
		t.Helper()
		s, err := c.State(t.Context())
		must.Succeed(t, err)
		must.Succeed(t, json.Unmarshal(s.Fields["project_parts"], &all))
		return all
	}

	request := h.request(t, taskTools, `"agent":{`, `"agent":{"agent_context":{"load_project_skills":true},`)
	begin := func() *session.Conversation {
		t.Helper()
		c, _, err := h.Create(t.Context(), request)
		must.Succeed(t, err)
		return c
	}
	say := func(c *session.Conversation, text string, want ...string) {
		t.Helper()
		send(t, c, text)
		settle(t, c)
		got := ranNow()
		for i := range got {
			got[i] = filepath.Base(got[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: hooks ran: %q, want %q", text, got, want)
		}
	}

	c := begin()
	say(c, "push it")
	parts := asked(c)
	files := map[string]session.ProjectPart{}
	for _, p := range parts {
		files[p.File] = p
	}
	rules, looker := files[".agents/plugins/rules"], files[".agents/agents/looker.md"]
	if len(parts) != 3 || rules.Answer != permission.None || !strings.Contains(strings.Join(rules.Runs, "\n"), "${CLAUDE_PLUGIN_ROOT}/no-push") ||
		!strings.Contains(strings.Join(looker.Runs, "\n"), "./of-looker") || !strings.Contains(strings.Join(looker.Runs, "\n"), "db-server") {
		t.Fatalf("the questions: %+v", parts)
	}
	answer := c.ProjectHooks().AnswerPart
	if err := answer(t.Context(), rules.File, "another", true); !fault.Is(err, fault.Conflict) {
		t.Errorf("an answer about another content: %v, want Conflict", err)
	}
	if err := answer(t.Context(), "../out", rules.SHA256, true); !fault.Is(err, fault.NotFound) {
		t.Errorf("an answer about nothing: %v, want NotFound", err)
	}
	must.Succeed(t, answer(t.Context(), rules.File, rules.SHA256, true))
	say(c, "push it again", "no-push")
	if in, err := c.ProjectHooks().InForce(); err != nil || !strings.HasPrefix(in.PreToolUse[0].Hooks[0].Command, copies) {
		t.Errorf("in force: %+v, %v, want the command of a copy", in, err)
	}
	must.Succeed(t, answer(t.Context(), looker.File, looker.SHA256, true))
	say(c, "give it away", "of-looker", "no-push")

	// The next conversation has the answers, until the agent changes the plugin.
	must.Succeed(t, os.WriteFile(filepath.Join(h.work, ".agents/plugins/rules/hooks/hooks.json"), []byte(hook("./evil")), 0o600))
	next := begin()
	say(next, "push it now")
	// So has the first one, once it is opened again.
	must.Succeed(t, c.SetLimits(t.Context(), session.Limits{MaxIterations: 99}))
	say(c, "push it once more")
	for _, p := range append(asked(next), asked(c)...) {
		if want := map[string]permission.Answer{rules.File: permission.None, looker.File: permission.Allowed, ".agents/agents/other.md": permission.None}[p.File]; p.Answer != want {
			t.Errorf("%s: %q, want %q", p.File, p.Answer, want)
		}
	}
	for _, u := range eventsOf[*event.ConversationStateUpdateEvent](t, h, next.ID()) {
		if u.Key == "warnings" && !strings.Contains(string(u.Value), "plugins/rules: its hooks and MCP servers do not run") {
			t.Errorf("warnings %s", u.Value)
		}
	}
}

// TestAllowedAgents runs the hooks of a project's agent that the user has allowed before the conversation, until
// its definition has others.
func TestAllowedAgents(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ran []string
	task := does("task", `{"prompt":"look","subagent_type":"looker"}`)
	h := setup(t, inTurn(task, finished("looked"), says("given"), task, finished("looked"), says("given")), nil)
	h.extend = func(r session.Resources) session.Resources { return lending{programs{r, &mu, &ran}} }
	looker := func(command string) {
		testtree.Write(t, h.work, map[string]string{
			".agents/agents/looker.md": "---\nname: looker\ndescription: d\nhooks: {SessionStart: [{hooks: [{command: ./" + command + "}]}]}\n---\nlook",
		})
	}
	looker("allowed")
	found, _ := subagent.Catalog{}.List(subagent.Query{Project: true, ProjectDir: h.work})
	content, err := found[0].Programs()
	must.Succeed(t, err)
	request := h.request(t, taskTools)
	request.AllowedAgents = []string{permission.Sum(content)}
	for range 2 { // the second time with a hook that nobody has allowed
		c, _, err := h.Create(t.Context(), request)
		must.Succeed(t, err)
		send(t, c, "give it away")
		settle(t, c)
		looker("evil")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(ran) != 1 || filepath.Base(ran[0]) != "allowed" {
		t.Errorf("hooks ran: %q", ran)
	}
}

// TestProjectPartsInside asks about the plugins of a project inside its sandbox as well, and runs their hooks and MCP servers
// after a yes, except those that are files of the plugin, which the agent can change there.
func TestProjectPartsInside(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ran []string
	h := setup(t, inTurn(
		shell("push"), says("pushed"),
		shell("push"), says("checked"),
		does("task", `{"prompt":"look","subagent_type":"helper"}`), shell("push"), finished("looked"), says("given"),
	), func(o *session.Options) { o.Permissions = answered{permission.Open(t.TempDir(), nil)} })
	h.extend = func(r session.Resources) session.Resources { return lending{programs{r, &mu, &ran}} }
	far := t.TempDir()
	testtree.Write(t, far, map[string]string{
		".agents/plugins/rules/hooks/hooks.json": `{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"${CLAUDE_PLUGIN_ROOT}/evil"},{"command":"make check"}]}]}`,
		".agents/plugins/rules/.mcp.json":        `{"mcpServers":{"db":{"command":"db-server"}}}`,
		".agents/plugins/rules/commands/go.md":   "GO RULES",
		".agents/plugins/rules/agents/helper.md": "---\nname: helper\n---\nhelp",
	})
	files, err := workspace.Open(far)
	must.Succeed(t, err)
	defer files.Close()
	h.inside, h.work = files, filepath.Join(h.work, "only", "inside")
	c, _, err := h.Create(t.Context(), h.request(t, taskTools, `"agent":{`, `"agent":{"agent_context":{"load_project_skills":true},`))
	must.Succeed(t, err)
	say := func(text string, hooks ...string) {
		t.Helper()
		send(t, c, text)
		settle(t, c)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(ran, hooks) {
			t.Errorf("%s: hooks ran: %q, want %q", text, ran, hooks)
		}
		ran = nil
	}
	servers := func() []string {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.asked.Agent.MCPServers.Keys()
	}
	say("push it")
	parts := c.ProjectHooks().Parts()
	if len(parts) != 1 || parts[0].File != ".agents/plugins/rules" || parts[0].Answer != permission.None || len(parts[0].Runs) != 2 || len(servers()) > 0 {
		t.Fatalf("the questions: %+v, servers %q", parts, servers())
	}
	if !slices.ContainsFunc(h.asked.Skills, func(s skill.Skill) bool { return s.Content == "GO RULES" }) {
		t.Errorf("skills %+v", h.asked.Skills)
	}
	must.Succeed(t, c.ProjectHooks().AnswerPart(t.Context(), parts[0].File, parts[0].SHA256, true))
	say("push it again", "make check")
	if !slices.Equal(servers(), []string{"db"}) {
		t.Errorf("servers %q", servers())
	}
	var warned bool
	for _, u := range eventsOf[*event.ConversationStateUpdateEvent](t, h, c.ID()) {
		warned = warned || u.Key == "warnings" && strings.Contains(string(u.Value), "it runs files of the plugin")
	}
	if !warned {
		t.Error("nobody says that a hook is left out")
	}
	say("give it away", "make check")
}

// TestBrokenAgents names files of agents that are none in the warnings of a conversation, whose agent can give tasks.
func TestBrokenAgents(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	h := setup(t, nil, func(o *session.Options) { o.SubAgents = subagent.NewCatalog(home, home+"/.openhands") })
	testtree.Write(t, h.work, map[string]string{".agents/agents/bad.md": "---\npermission_mode: maybe\n---\n"})
	testtree.Write(t, home, map[string]string{".openhands/agents/worse.md": "---\nmax_iteration_per_run: many\n---\n"})
	for tools, want := range map[string]int{"": 0, taskTools: 2} {
		c, _, err := h.Create(t.Context(), h.request(t, tools))
		must.Succeed(t, err)
		e, err := c.Environment().Equipment(t.Context())
		must.Succeed(t, err)
		told := strings.Join(e.Warnings, "\n")
		if strings.Count(told, "not loaded: ") != want || want > 0 && !(strings.Contains(told, "agents/bad.md: ") && strings.Contains(told, "agents/worse.md: ")) {
			t.Errorf("tools %q: warnings %q", tools, e.Warnings)
		}
	}
}
