package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/sessiontest"
	flow "github.com/deft-dev/deft/tool/workflow"
)

const workflowTools = `"agent":{"kind":"Agent","llm":{"model":"openai/mock","api_key":"the-api-key","usage_id":"agent"},
"tools":[{"name":"terminal","params":{}},{"name":"workflow_tool_set","params":{}}]}`

// withScripts gives conversations what runs scripts.
func (h *fixture) withScripts() {
	h.extend = func(res session.Resources) session.Resources {
		res.(*sessiontest.Resources).Script = func(ctx context.Context, script string, most int, do func(ctx context.Context, prompt, agent, description string) (string, error)) (string, error) {
			return flow.Run(ctx, script, most, func(ctx context.Context, p flow.Part) (string, error) {
				return do(ctx, p.Prompt, p.Agent, p.Description)
			})
		}
		return res
	}
}

func runs(script string) *llm.Response {
	return does("workflow", `{"name":"flow","script":"`+strings.ReplaceAll(script, "\n", `\n`)+`"}`)
}

// flows are the results of workflows in a conversation.
func (h *fixture) flows(t *testing.T, id event.ConversationID) (all []string) {
	t.Helper()
	for _, o := range eventsOf[*event.ObservationEvent](t, h, id) {
		if w, ok := o.Observation.(*event.WorkflowObservation); ok {
			all = append(all, w.Name+" "+w.Status+": "+event.JoinText(w.Content))
		}
	}
	return all
}

// TestWorkflow runs a script over sub-agents, which are listed below the conversation and counted
// in it, and names what fails.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(
		runs("def main(wf):\n  return wf.reduce_agent(wf.map_agents(['a', 'b'], 'see {item}', description='look'), 'sum')"),
		runs("def main(wf):\n  wf.run_agent('x', subagent_type='moon')"),
		runs("def main(wf):\n  fail('no')"),
		says("done"),
	), func(_ context.Context, r llm.Request) (*llm.Response, error) {
		return finished("<" + lastText(r) + ">"), nil
	}), nil)
	h.withScripts()
	c := h.begin(t, workflowTools)
	send(t, c, "begin")
	settle(t, c)
	got := h.flows(t, c.ID())
	if len(got) != 3 || got[0] != "flow completed: <sum\n\nInput:\n[\"<see a>\",\"<see b>\"]>" ||
		!strings.Contains(got[1], `flow error: `) || !strings.Contains(got[1], `there is no agent of the type "moon"`) || !strings.Contains(got[2], "fail: no") {
		t.Errorf("got %q", got)
	}
	if d := describe(t, c); strings.Count(d, `"task:`) != 3 || status(t, c) != "finished" {
		t.Errorf("counted in %s", d)
	}
}

// TestWorkflowGoesOn interrupts a workflow, restarts, and runs it again: the sub-agent that has
// finished is not asked again, and the one that was interrupted goes on.
func TestWorkflowGoesOn(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	h := setup(t, family(inTurn(runs("def main(wf):\n  return [wf.run_agent('one'), wf.run_agent('two')]"), says("done")), func(ctx context.Context, r llm.Request) (*llm.Response, error) {
		text := lastText(r)
		asked <- text
		if text == "two" {
			return shell("block"), nil
		}
		return finished("<" + text + ">"), nil
	}), nil)
	h.withScripts()
	c := h.begin(t, workflowTools)
	send(t, c, "begin")
	<-h.tools.started
	must.Succeed(t, c.Interrupt(t.Context()))
	settle(t, c)
	if got := h.flows(t, c.ID()); len(got) != 0 || status(t, c) != "paused" {
		t.Fatalf("interrupted: %q, %s", got, status(t, c))
	}
	close(h.tools.release)
	h.restart(t)
	c = h.get(t, c.ID())
	must.Succeed(t, c.Run(t.Context()))
	settle(t, c)
	got := h.flows(t, c.ID())
	if len(got) != 1 || !strings.HasPrefix(got[0], `flow completed: ["<one>", "<`) {
		t.Errorf("got %q", got)
	}
	close(asked)
	var all []string
	for text := range asked {
		all = append(all, text)
	}
	if n := len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s != "one" })); n != 1 {
		t.Errorf("asked %q", all)
	}
}
