package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

const taskTools = `"agent":{"kind":"Agent","llm":{"model":"openai/mock","api_key":"the-api-key","usage_id":"agent"},
"tools":[{"name":"terminal","params":{}},{"name":"task_tool_set","params":{}}]}`

func gives(prompt string) *llm.Response {
	return does("task", fmt.Sprintf(`{"prompt":%q,"description":"the part"}`, prompt))
}

// asked reports whether a request belongs to a conversation whose first message is
// text.
func asked(r llm.Request, text string) bool {
	return slices.ContainsFunc(r.Messages, func(m event.Message) bool {
		return m.Role == event.RoleUser && event.JoinText(m.Content) == text
	})
}

// family answers as a parent, in the conversation that begins with "begin", and as a
// sub-agent in others.
func family(parent, child reply) reply {
	return func(ctx context.Context, r llm.Request) (*llm.Response, error) {
		if asked(r, "begin") {
			return parent(ctx, r)
		}
		return child(ctx, r)
	}
}

// taskActions are the actions of a conversation that give tasks.
func (h *fixture) taskActions(t *testing.T, id event.ConversationID) []*event.ActionEvent {
	t.Helper()
	return slices.DeleteFunc(eventsOf[*event.ActionEvent](t, h, id), func(a *event.ActionEvent) bool { return a.ToolName != "task" })
}

// taskResults are the observations of tasks in a conversation.
func (h *fixture) taskResults(t *testing.T, id event.ConversationID) (all []*event.TaskObservation) {
	t.Helper()
	for _, o := range eventsOf[*event.ObservationEvent](t, h, id) {
		if got, ok := o.Observation.(*event.TaskObservation); ok {
			all = append(all, got)
		}
	}
	return all
}

// only is the only result of a task, in one line.
func (h *fixture) only(t *testing.T, id event.ConversationID) (*event.TaskObservation, string) {
	t.Helper()
	all := h.taskResults(t, id)
	if len(all) != 1 {
		t.Fatalf("%d results in %v", len(all), h.kinds(t, id))
	}
	return all[0], fmt.Sprintf("%s %s %v: %s", all[0].Subagent, all[0].Status, all[0].IsError, event.JoinText(all[0].Content))
}

// child returns the conversation of the only task's sub-agent, once there is one.
func (h *fixture) child(t *testing.T, c *session.Conversation) *session.Conversation {
	t.Helper()
	for range h.stream.Follow(t.Context(), c.ID(), 1) {
		if all := h.taskActions(t, c.ID()); len(all) > 0 {
			id := event.ConversationID(all[0].ID)
			child, err := h.Get(t.Context(), id)
			if fault.Is(err, fault.NotFound) { // it is made after its action is stored
				for <-h.stream.made != id {
				}
				child, err = h.Get(t.Context(), id)
			}
			must.Succeed(t, err)
			return child
		}
	}
	return nil
}

func TestTask(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(gives("count"), says("done")), inTurn(shell("ls"), finished("there are 3"))), nil)
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	settle(t, c)
	o, got := h.only(t, c.ID())
	if want := "general-purpose completed false: there are 3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	action := h.taskActions(t, c.ID())[0]
	if o.TaskID != string(action.ID) {
		t.Errorf("the task is %s, its action %s", o.TaskID, action.ID)
	}
	child := h.get(t, event.ConversationID(o.TaskID))
	raw := []byte(describe(t, child))
	if got := field(t, raw, "parent_conversation_id"); got != string(c.ID()) {
		t.Errorf("the parent is %s", got)
	}
	if got := field(t, raw, "title"); got != "the part" {
		t.Errorf("the title is %q", got)
	}
	var parent struct {
		Children []string `json:"sub_conversation_ids"`
	}
	if err := json.Unmarshal([]byte(describe(t, c)), &parent); err != nil || !slices.Equal(parent.Children, []string{o.TaskID}) {
		t.Errorf("children %v, %v", parent.Children, err)
	}
	if got := h.kinds(t, child.ID()); got[1] != "user: count" && got[0] != "user: count" {
		t.Errorf("the sub-agent: %v", got)
	}
	for _, r := range h.model.asked { // the sub-agent has a history of its own, and no task tool
		if asked(r, "count") && (asked(r, "begin") || slices.ContainsFunc(r.Tools, func(d llm.Tool) bool { return d.Name == "task" })) {
			t.Errorf("the sub-agent was shown %v", r.Messages)
		}
	}
	last := h.model.asked[len(h.model.asked)-1]
	if got := lastText(last); !strings.Contains(got, o.TaskID) || !strings.Contains(got, "there are 3") {
		t.Errorf("the parent is shown %q", got)
	}
}

// TestReplayedTask: a replay calls no model, nor has sub-agents call one.
func TestReplayedTask(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(gives("count"), finished("done")), inTurn(finished("there are 3"))), nil)
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	settle(t, c)
	calls := h.model.calls()
	again := h.begin(t, taskTools)
	must.Succeed(t, again.Replay(t.Context(), eventsOf[event.Event](t, h, c.ID())))
	if _, got := h.only(t, again.ID()); got != "general-purpose error true: a replay calls no model, so nobody did this task" {
		t.Errorf("got %s", got)
	}
	if got, n := status(t, again), h.model.calls(); got != "finished" || n != calls {
		t.Errorf("status %s after %d calls of the model, want %d", got, n, calls)
	}
}

func TestTaskResume(t *testing.T) {
	t.Parallel()
	var id string
	parent := inTurn(gives("count"), says("one"))
	h := setup(t, nil, nil)
	again := func(context.Context, llm.Request) (*llm.Response, error) {
		return does("task", fmt.Sprintf(`{"prompt":"and the rest","resume":%q}`, id)), nil
	}
	steps := []reply{parent, parent, again, inTurn(says("two"))}
	h.model.answer = family(func(ctx context.Context, r llm.Request) (*llm.Response, error) {
		next := steps[0]
		steps = steps[1:]
		return next(ctx, r)
	}, inTurn(finished("3"), finished("4")))
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	settle(t, c)
	id = string(h.taskActions(t, c.ID())[0].ID)
	send(t, c, "go on")
	settle(t, c)
	all := h.taskResults(t, c.ID())
	if len(all) != 2 || all[1].TaskID != id || event.JoinText(all[1].Content) != "4" {
		t.Fatalf("got %+v", all)
	}
	got := strings.Join(h.kinds(t, event.ConversationID(id)), "\n")
	if strings.Count(got, "user: count") != 1 || strings.Count(got, "user: and the rest") != 1 {
		t.Errorf("the sub-agent: %s", got)
	}
}

func TestTaskRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"prompt":"x","subagent_type":"moon"}`:                               `moon error true: there is no agent of the type "moon"; the types are: bash-runner, code-explorer, general-purpose`,
		`{"prompt":"x","resume":"no id"}`:                                     `general-purpose error true: there is no task "no id" to go on with; the tasks of this conversation are: none`,
		`{"prompt":"x","resume":"` + string(event.NewConversationID()) + `"}`: `the tasks of this conversation are: none`,
		`{"prompt":" "}`: `general-purpose error true: the task is empty`,
	} {
		h := setup(t, inTurn(does("task", args), says("done")), nil)
		c := h.begin(t, taskTools)
		send(t, c, "begin")
		settle(t, c)
		if o, got := h.only(t, c.ID()); !strings.Contains(got, want) || o.TaskID != "unknown" || status(t, c) != "finished" {
			t.Errorf("%s: %s %s", args, o.TaskID, got)
		}
	}
}

func TestTaskFails(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(gives("count"), says("done")), func(context.Context, llm.Request) (*llm.Response, error) {
		return nil, fault.New(fault.Auth, "the key is wrong")
	}), nil)
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	settle(t, c)
	if _, got := h.only(t, c.ID()); !strings.HasPrefix(got, "general-purpose error true: ") || !strings.Contains(got, "the key is wrong") {
		t.Errorf("got %s", got)
	}
	if got := status(t, c); got != "finished" {
		t.Errorf("the parent is %s", got)
	}
}

// TestTaskInterrupted holds that a sub-agent stops with its parent and goes on with it.
func TestTaskInterrupted(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*session.Conversation, context.Context) error{
		"pause": (*session.Conversation).Pause, "interrupt": (*session.Conversation).Interrupt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, family(inTurn(gives("count"), says("done")), inTurn(shell("block"), finished("3"))), nil)
			c := h.begin(t, taskTools)
			send(t, c, "begin")
			<-h.tools.started
			must.Succeed(t, stop(c, t.Context()))
			settle(t, c)
			child := h.child(t, c)
			if got := status(t, c) + " " + status(t, child); got != "paused paused" {
				t.Fatalf("the statuses are %s", got)
			}
			if all := h.taskResults(t, c.ID()); len(all) > 0 {
				t.Fatalf("there is a result: %+v", all)
			}
			must.Succeed(t, c.Run(t.Context()))
			settle(t, c)
			if _, got := h.only(t, c.ID()); got != "general-purpose completed false: 3" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestTaskSuperseded holds that a message in place of a resumption lets the agent decide
// about the task.
func TestTaskSuperseded(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(gives("count"), says("as you like")), inTurn(shell("block"))), nil)
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	<-h.tools.started
	must.Succeed(t, c.Interrupt(t.Context()))
	settle(t, c)
	send(t, c, "leave it")
	settle(t, c)
	o, got := h.only(t, c.ID())
	if !strings.HasPrefix(got, "general-purpose interrupted false: ") || o.TaskID != string(h.child(t, c).ID()) {
		t.Errorf("got %s", got)
	}
	if got := status(t, c) + " " + status(t, h.child(t, c)); got != "finished paused" {
		t.Errorf("the statuses are %s", got)
	}
}

// TestTaskRestart holds that a sub-agent is joined after a restart, and not begun twice.
func TestTaskRestart(t *testing.T) {
	t.Parallel()
	h := setup(t, nil, nil)
	entered := make(chan struct{}, 1)
	first := true
	h.model.answer = family(inTurn(gives("count"), says("done")), func(ctx context.Context, _ llm.Request) (*llm.Response, error) {
		if first {
			first = false
			entered <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return finished("3"), nil
	})
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	<-entered
	h.restart(t)
	if _, err := h.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	c = h.get(t, c.ID())
	settle(t, c)
	if _, got := h.only(t, c.ID()); got != "general-purpose completed false: 3" {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(h.kinds(t, h.child(t, c).ID()), "\n"); strings.Count(got, "user: count") != 1 {
		t.Errorf("the sub-agent: %s", got)
	}
}

func TestTaskConfirmation(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string]bool{"accepted": true, "rejected": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, family(inTurn(gives("count"), says("done")), inTurn(shell("ls"), finished("3"))), nil)
			c := h.begin(t, taskTools+`,"confirmation_policy":{"kind":"AlwaysConfirm"}`)
			send(t, c, "begin")
			settle(t, c)
			if err := c.Run(t.Context()); err != nil { // the task itself
				t.Fatal(err)
			}
			child, err := c.Delegation().Wait(t.Context())
			if err != nil || child == nil || child.ID() != h.child(t, c).ID() || status(t, child) != "waiting_for_confirmation" {
				t.Fatalf("asked by %v, %v", child, err)
			}
			if got := status(t, c); got != "running" {
				t.Errorf("the parent is %s", got)
			}
			must.Succeed(t, child.Confirmation().Respond(t.Context(), accept, "no"))
			if asking, err := c.Delegation().Wait(t.Context()); asking != nil || err != nil {
				t.Errorf("asked by %v, %v", asking, err)
			}
			if _, got := h.only(t, c.ID()); got != "general-purpose completed false: 3" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestTaskCost: a parent counts its sub-agents' spending.
func TestTaskCost(t *testing.T) {
	t.Parallel()
	costs := func(r *llm.Response) *llm.Response {
		r.Cost, r.CostKnown, r.Usage = 0.25, true, llm.Usage{Prompt: 10, Output: 5}
		return r
	}
	h := setup(t, family(inTurn(costs(gives("count")), costs(says("done"))), inTurn(costs(shell("ls")), costs(finished("3")))), nil)
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	settle(t, c)
	s, err := c.State(t.Context())
	must.Succeed(t, err)
	o, _ := h.only(t, c.ID())
	m := s.Stats.UsageToMetrics["task:"+o.TaskID]
	if m.AccumulatedCost != 0.5 || m.AccumulatedTokenUsage == nil || m.AccumulatedTokenUsage.PromptTokens != 20 || s.Stats.Cost() != 1 {
		t.Errorf("counted %+v of %v", m, s.Stats.Cost())
	}
}

// TestTaskDelete deletes a parent while its sub-agent works.
func TestTaskDelete(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(gives("count")), inTurn(shell("block"), finished("3"))), nil)
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	<-h.tools.started
	child := h.child(t, c)
	if _, err := h.Delete(t.Context(), c.ID()); err != nil {
		t.Fatal(err)
	}
	if got := status(t, child); got != "paused" {
		t.Errorf("the sub-agent is %s", got)
	}
	if err := child.Run(t.Context()); err != nil { // with resources of its own
		t.Fatal(err)
	}
	settle(t, child)
	if got := status(t, child); got != "finished" {
		t.Errorf("the sub-agent is %s", got)
	}
}

// TestPausedSubAgentStaysPaused holds that a sub-agent that the user has paused stays paused after
// a restart, while its parent waits for it, and goes on when the user runs it.
func TestPausedSubAgentStaysPaused(t *testing.T) {
	t.Parallel()
	joined := make(chan struct{}, 10)
	h := setup(t, family(inTurn(gives("count"), says("done")), inTurn(shell("block"), finished("3"))), func(o *session.Options) {
		o.Assigned = func(*session.Conversation) { joined <- struct{}{} }
	})
	c := h.begin(t, taskTools)
	send(t, c, "begin")
	<-h.tools.started
	<-joined
	child := h.child(t, c)
	must.Succeed(t, child.Pause(t.Context()))
	close(h.tools.release)
	settle(t, child)
	if got := status(t, child); got != "paused" {
		t.Fatalf("status %s", got)
	}
	before := h.kinds(t, child.ID())
	h.restart(t)
	if n, err := h.Resume(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d conversations go on, %v", n, err)
	}
	<-joined // the parent's call has found it again
	c = h.get(t, c.ID())
	must.Succeed(t, c.Interrupt(t.Context())) // nor is it run with its parent
	settle(t, c)
	must.Succeed(t, c.Run(t.Context()))
	<-joined
	child = h.get(t, child.ID())
	if got := status(t, child); got != "paused" || status(t, h.get(t, c.ID())) != "running" {
		t.Errorf("after the restart the sub-agent is %s, its parent %s", got, status(t, h.get(t, c.ID())))
	}
	must.Succeed(t, child.Run(t.Context()))
	settle(t, h.get(t, c.ID()))
	if _, got := h.only(t, c.ID()); got != "general-purpose completed false: 3" {
		t.Errorf("got %s", got)
	}
	if diff := cmp.Diff([]string{"running", "ActionEvent", "ObservationEvent", "finished"}, h.kinds(t, child.ID())[len(before):]); diff != "" {
		t.Errorf("after the restart (-want +got):\n%s", diff)
	}
}
