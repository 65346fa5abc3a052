package session_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/subagent"
	"github.com/deft-dev/deft/workspace"
)

// beginWith makes a conversation whose agent can give tasks to agents.
func (h *fixture) beginWith(t *testing.T, more string, change func(*session.Spec)) *session.Conversation {
	t.Helper()
	s := h.request(t, taskTools+more)
	change(&s)
	c, _, err := h.Create(t.Context(), s)
	must.Succeed(t, err)
	return c
}

// TestSubAgentBudget holds that a sub-agent spends the budget of its parent, of which its
// definition may allow it a part.
func TestSubAgentBudget(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(does("task", `{"prompt":"a","subagent_type":"cheap"}`), gives("b"), says("done")), inTurn(finished("1"), finished("2"))), nil)
	half := 0.5
	c := h.beginWith(t, "", func(s *session.Spec) {
		s.MaxCost, s.Agents = 1, []subagent.Definition{{Name: "cheap", MaxBudget: &half}}
	})
	send(t, c, "begin")
	settle(t, c)
	if len(h.budgets) != 3 {
		t.Fatalf("%d models were opened", len(h.budgets))
	}
	whole, part, other := h.budgets[0], h.budgets[1], h.budgets[2]
	if _, err := part.Reserve(0.6); !fault.Is(err, fault.Limit) {
		t.Errorf("more than its part: %v", err)
	}
	r, err := part.Reserve(0.4)
	must.Succeed(t, err)
	if _, _, reserved := whole.State(); reserved != 0.4 {
		t.Errorf("of the parent's, %v is reserved", reserved)
	}
	if _, err := other.Reserve(0.7); !fault.Is(err, fault.Limit) {
		t.Errorf("more than what its sibling has left: %v", err)
	}
	r.Settle(0)
}

// TestSubAgentDefinition: a sub-agent follows the file of its definition, and a file cannot
// take away the user's confirmations.
func TestSubAgentDefinition(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(does("task", `{"prompt":"look","subagent_type":"looker"}`), says("done")), inTurn(finished("seen"))), nil)
	dir := filepath.Join(h.work, ".agents", "agents")
	must.Succeed(t, os.MkdirAll(dir, 0o755))
	file := "---\nname: looker\nmodel: quick\ntools: terminal, task_tool_set\nmax_iteration_per_run: 7\ncondenser: {kind: StructuredSummaryCondenser, max_size: 33, llm: {model: openai/evil}}\npermission_mode: never_confirm\n---\nLOOK WELL\n"
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "l.md"), []byte(file), 0o600))
	h.profiles["quick"] = `{"model":"openai/quick","api_key":"k","usage_id":"x"}`
	h.models["openai/quick"] = &model{name: "openai/quick", answer: h.model.answer}
	c := h.begin(t, taskTools+`,"confirmation_policy":{"kind":"ConfirmRisky","threshold":"HIGH","confirm_unknown":false}`)
	send(t, c, "begin")
	settle(t, c)
	o, got := h.only(t, c.ID())
	if got != "looker completed false: seen" || h.models["openai/quick"].calls() != 1 {
		t.Fatalf("got %s, %d calls of its model", got, h.models["openai/quick"].calls())
	}
	child := h.get(t, event.ConversationID(o.TaskID))
	var d struct {
		MaxIterations int `json:"max_iterations"`
		Policy        struct{ Kind string }
		Agent         struct {
			Tools   []struct{ Name string }
			Context struct {
				Suffix string `json:"system_message_suffix"`
			} `json:"agent_context"`
			Condenser struct {
				MaxSize int `json:"max_size"`
				LLM     struct{ Model string }
			}
		}
	}
	raw := describe(t, child)
	must.Succeed(t, json.Unmarshal([]byte(strings.Replace(raw, `"confirmation_policy"`, `"policy"`, 1)), &d))
	if d.MaxIterations != 7 || d.Policy.Kind != "ConfirmRisky" || len(d.Agent.Tools) != 1 || d.Agent.Tools[0].Name != "terminal" || d.Agent.Context.Suffix != "LOOK WELL" {
		t.Errorf("the sub-agent: %+v", d)
	}
	if c := d.Agent.Condenser; c.MaxSize != 33 || c.LLM.Model != "openai/quick" {
		t.Errorf("the condenser: %+v", c)
	}
	stored := h.stored(t, child.ID())
	for _, part := range []string{"agent looker: tools: a sub-agent cannot give tasks or start conversations itself", "agent looker: permission_mode: ", "agent looker: condenser.llm: "} {
		if !strings.Contains(stored, part) {
			t.Errorf("there is no warning %q", part)
		}
	}
}

// TestParameterWithoutEffect: a conversation names a parameter of a tool that changes nothing.
func TestParameterWithoutEffect(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("done")), nil)
	c := h.begin(t, strings.Replace(taskTools, `"tools":[`, `"tools":[{"name":"start_child_conversation","params":{"launch_url":"https://example.com"}},`, 1))
	send(t, c, "begin")
	settle(t, c)
	if stored := h.stored(t, c.ID()); !strings.Contains(stored, "tool start_child_conversation: launch_url: ") {
		t.Error("there is no warning")
	}
}

// TestSubAgentScope holds that an agent whose tools say so gives tasks only to agents that
// have no other tools.
func TestSubAgentScope(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(gives("x"), says("done")), nil)
	c := h.begin(t, strings.Replace(taskTools, `"name":"task_tool_set","params":{}`, `"name":"task_tool_set","params":{"sub_agent_scope":{"tools":true}}`, 1))
	send(t, c, "begin")
	settle(t, c)
	if _, got := h.only(t, c.ID()); !strings.HasSuffix(got, `the types are: bash-runner, code-explorer`) {
		t.Errorf("got %s", got)
	}
}

// TestSubAgentKeepsItsHost holds that a conversation is not evicted while a sub-agent of it
// works, and is when that is idle, too.
func TestSubAgentKeepsItsHost(t *testing.T) {
	t.Parallel()
	h := setup(t, nil, func(o *session.Options) { o.IdleTTL = time.Hour })
	h.model.answer = family(inTurn(gives("count"), says("done")), inTurn(finished("1"), shell("block"), finished("2")))
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	settle(t, c)
	child := h.child(t, c)
	send(t, child, "go on")
	<-h.tools.started
	h.EvictIdle(time.Now().Add(2 * time.Hour))
	close(h.tools.release)
	settle(t, child)
	if got, _ := child.Assistant().FinalResponse(t.Context()); got != "2" || h.made(c.ID()) != 1 {
		t.Errorf("the sub-agent says %q; its parent was made %d times", got, h.made(c.ID()))
	}
	h.EvictIdle(time.Now().Add(4 * time.Hour))
	h.EvictIdle(time.Now().Add(4 * time.Hour))
	if _, err := h.get(t, child.ID()).State(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h.made(c.ID()) != 2 || h.made(child.ID()) != 2 {
		t.Errorf("after an eviction the parent was made %d times, the sub-agent %d times", h.made(c.ID()), h.made(child.ID()))
	}
}

// TestTasksSideBySide runs two sub-agents of one answer at the same time.
func TestTasksSideBySide(t *testing.T) {
	t.Parallel()
	both := does("task", `{"prompt":"one"}`)
	both.Message.ToolCalls = append(both.Message.ToolCalls, gives("two").Message.ToolCalls...)
	met := make(chan struct{})
	h := setup(t, family(inTurn(both, says("done")), func(_ context.Context, r llm.Request) (*llm.Response, error) {
		select {
		case met <- struct{}{}:
		case <-met:
		}
		return finished(lastText(r)), nil
	}), func(o *session.Options) { o.MaxRuns = 1 }) // they have the permit of their parent
	c := h.begin(t, strings.Replace(taskTools, `"kind":"Agent",`, `"kind":"Agent","tool_concurrency_limit":2,`, 1))
	send(t, c, "begin")
	settle(t, c)
	all := h.taskResults(t, c.ID())
	if len(all) != 2 || event.JoinText(all[0].Content) != "one" || event.JoinText(all[1].Content) != "two" {
		t.Errorf("got %+v", all)
	}
}

// TestSubAgentInside finds the agents of a project that is inside its sandbox.
func TestSubAgentInside(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(does("task", `{"prompt":"look","subagent_type":"looker"}`), says("done")), inTurn(finished("seen"))), nil)
	dir := t.TempDir()
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, ".openhands", "agents"), 0o755))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, ".openhands", "agents", "looker.md"), []byte("LOOK WELL"), 0o600))
	files, err := workspace.Open(dir)
	must.Succeed(t, err)
	defer files.Close()
	h.inside, h.work = files, filepath.Join(h.work, "only", "inside")
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	settle(t, c)
	if _, got := h.only(t, c.ID()); got != "looker completed false: seen" {
		t.Errorf("got %s", got)
	}
}

// TestSubAgentParts gives a sub-agent the skills, the condenser and the MCP servers of its
// definition: the condenser has the agent's model, and the servers' secrets are not stored in the
// clear. A project's definition brings no servers.
func TestSubAgentParts(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(does("task", `{"prompt":"a","subagent_type":"own"}`), does("task", `{"prompt":"b","subagent_type":"theirs"}`),
		does("task", `{"prompt":"c","subagent_type":"odd"}`), does("task", `{"prompt":"d","subagent_type":"explore"}`), says("done")),
		inTurn(finished("1"), finished("2"), finished("3"))), nil)
	for name, text := range map[string]string{
		".agents/skills/style/SKILL.md":  "---\nname: style\ndescription: How to write.\n---\nSTYLE RULES",
		".agents/skills/deploy/SKILL.md": "---\nname: deploy\ndescription: How to deploy.\n---\nDEPLOY RULES",
		".agents/agents/theirs.md":       "---\nmcp_servers: {evil: {command: evil}}\nhooks: {stop: [{hooks: [{command: evil}]}]}\n---\n",
		".agents/agents/odd.md":          "---\nskills: [style, moon]\n---\n",
		".agents/agents/broken.md":       "---\ncondenser: {kind: MoonCondenser}\n---\n",
	} {
		file := filepath.Join(h.work, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	}
	own, err := subagent.Decode([]byte(`{"name":"own","description":"d","skills":["style"],"condenser":{"kind":"LLMSummarizingCondenser","max_size":66},
		"mcp_config":{"special":{"url":"http://special","headers":{"X-Key":"the-server-key"}}}}`))
	must.Succeed(t, err)
	c := h.beginWith(t, "", func(s *session.Spec) { s.Agents = []subagent.Definition{own} })
	send(t, c, "begin")
	settle(t, c)
	h.restart(t)
	type result struct {
		Agent struct {
			Condenser struct {
				MaxSize int `json:"max_size"`
				LLM     struct {
					Model string
					Usage string `json:"usage_id"`
				}
			}
			Servers map[string]json.RawMessage `json:"mcp_config"`
		}
	}
	children, skills := map[string]result{}, map[string]string{}
	stored := ""
	for _, o := range eventsOf[*event.ObservationEvent](t, h, c.ID()) {
		task, ok := o.Observation.(*event.TaskObservation)
		if !ok {
			continue
		}
		if task.Subagent == "odd" {
			if text := event.JoinText(task.Content); !strings.Contains(text, `the agent odd names the skill "moon", which is not there; the skills are: deploy, style`) {
				t.Errorf("odd: %s", text)
			}
			continue
		}
		var r result
		child := h.get(t, event.ConversationID(task.TaskID))
		must.Succeed(t, json.Unmarshal([]byte(describe(t, child)), &r))
		children[task.Subagent] = r
		if about := child.Agent().Context; about != nil {
			for _, raw := range about.Skills {
				skills[task.Subagent] += string(raw)
			}
		}
		info, err := h.stream.Info(t.Context(), child.ID())
		must.Succeed(t, err)
		stored += h.stored(t, child.ID()) + string(info.Meta.Extra)
	}
	info, err := h.stream.Info(t.Context(), c.ID())
	must.Succeed(t, err)
	if strings.Contains(stored+string(info.Meta.Extra), "the-server-key") {
		t.Error("the key of a server is stored in the clear")
	}
	got := children["own"].Agent
	if !strings.Contains(skills["own"], "STYLE RULES") || strings.Contains(skills["own"], "DEPLOY RULES") || got.Condenser.MaxSize != 66 ||
		got.Condenser.LLM.Model != "openai/mock" || got.Condenser.LLM.Usage != "condenser" || got.Servers["special"] == nil {
		t.Errorf("own: %+v %s", got, skills["own"])
	}
	if len(children["theirs"].Agent.Servers) > 0 || !strings.Contains(stored, "agent theirs: mcp_config: ") || !strings.Contains(stored, "agent theirs: hooks: ") {
		t.Errorf("theirs: %+v", children["theirs"])
	}
	if _, ok := children["code-explorer"]; !ok {
		t.Errorf("a former name of an agent is not known: %v", children)
	}
}
