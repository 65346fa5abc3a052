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
	must(t, err)
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
	must(t, err)
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
	must(t, os.MkdirAll(dir, 0o755))
	file := "---\nname: looker\nmodel: quick\ntools: terminal, task_tool_set\nmax_iteration_per_run: 7\nskills: x\npermission_mode: never_confirm\n---\nLOOK WELL\n"
	must(t, os.WriteFile(filepath.Join(dir, "l.md"), []byte(file), 0o600))
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
		}
	}
	raw := describe(t, child)
	must(t, json.Unmarshal([]byte(strings.Replace(raw, `"confirmation_policy"`, `"policy"`, 1)), &d))
	if d.MaxIterations != 7 || d.Policy.Kind != "ConfirmRisky" || len(d.Agent.Tools) != 1 || d.Agent.Tools[0].Name != "terminal" || d.Agent.Context.Suffix != "LOOK WELL" {
		t.Errorf("the sub-agent: %+v", d)
	}
	stored := h.stored(t, child.ID())
	for _, part := range []string{"agent looker: skills: ", "agent looker: permission_mode: "} {
		if !strings.Contains(stored, part) {
			t.Errorf("there is no warning %q", part)
		}
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
	must(t, os.MkdirAll(filepath.Join(dir, ".openhands", "agents"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, ".openhands", "agents", "looker.md"), []byte("LOOK WELL"), 0o600))
	files, err := workspace.Open(dir)
	must(t, err)
	defer files.Close()
	h.inside, h.work = files, filepath.Join(h.work, "only", "inside")
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	settle(t, c)
	if _, got := h.only(t, c.ID()); got != "looker completed false: seen" {
		t.Errorf("got %s", got)
	}
}
