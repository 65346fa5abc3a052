package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/session/internal/lockorder"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// The values of TaskObservation.status. The reference has the first two.
const (
	taskCompleted   = "completed"
	taskError       = "error"
	taskInterrupted = "interrupted" // by the user, who has written something else
)

// noTask is the task_id of a task that was not given to anybody.
const noTask = "unknown"

// tasks runs the tasks that a conversation's agent gives to sub-agents. The conversation of
// a sub-agent has the id of the action: a task begins once, and a second request joins it.
//
// A task that is stopped with its parent has no result. The next run of the parent requests
// it again, and it continues.
type tasks struct {
	w *worker

	mu      lockorder.Mutex[lockorder.Part]
	running map[event.ID]context.CancelCauseFunc
	stopped map[event.ID]bool // before they began
	asking  []*Conversation   // sub-agents that wait for a confirmation
	asks    chan struct{}     // closed when another sub-agent waits
}

var _ runtime.Runtime = (*tasks)(nil)

func newTasks(w *worker) *tasks {
	return &tasks{w: w, running: map[event.ID]context.CancelCauseFunc{}, stopped: map[event.ID]bool{}, asks: make(chan struct{})}
}

// errTaskStopped is the cause of a task's end that is stopped with its parent.
var errTaskStopped = fault.New(fault.Canceled, "the sub-agent was interrupted")

// errNoSubAgent is the result of a task in a replay, which calls no model.
var errNoSubAgent = fault.New(fault.Unsupported, "a replay calls no model, so nobody did this task")

// Execute implements [runtime.Runtime] for [event.TaskAction] and [event.WorkflowAction]. The
// error is of kind fault.Canceled if the task was stopped.
func (t *tasks) Execute(ctx context.Context, r tool.Request) (event.Observation, error) {
	if a, ok := r.Action.(*event.WorkflowAction); ok {
		return t.workflow(ctx, r.ID, a)
	}
	a, ok := r.Action.(*event.TaskAction)
	if !ok {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("a sub-agent cannot be given a %T", r.Action))
	}
	if t.w.c.replaying.active() {
		return failedTask(nil, a, errNoSubAgent), nil
	}
	work, end := t.begin(ctx, r.ID)
	defer end()
	child, err := t.carryOut(work, r.ID, r.ID, a)
	switch {
	case ctx.Err() != nil: // this process ends, and the sub-agent with it
		return nil, ctx.Err()
	case errors.Is(context.Cause(work), errTaskStopped):
		return nil, errors.Join(errTaskStopped, assignee{child}.stop(ctx))
	case fault.Is(err, fault.Unavailable), fault.Is(err, fault.Full), fault.Is(err, fault.Corrupt):
		return nil, err
	case err != nil:
		return failedTask(child, a, err), nil
	}
	return assignee{child}.result(ctx)
}

// carryOut gives a task to a sub-agent and returns when that has finished. owner is the action that
// the task belongs to.
func (t *tasks) carryOut(ctx context.Context, id, owner event.ID, a *event.TaskAction) (*Conversation, error) {
	child, err := t.assign(ctx, id, owner, a)
	for errors.Is(err, ErrLocked) && pauseLocked(ctx) {
		child, err = t.assign(ctx, id, owner, a)
	}
	if err != nil {
		return child, err
	}
	return child, assignee{child}.follow(ctx, t.setAsking)
}

// lockedPause is the pause before the lock of a sub-agent is tried again. Only the holder of
// its parent's lock works on it, so another process has the lock for a moment only: it has
// noticed the end of an earlier process, and releases it again.
const lockedPause = 100 * time.Millisecond

// pauseLocked waits before the lock of a sub-agent is tried again; false if ctx ends.
func pauseLocked(ctx context.Context) bool {
	select {
	case <-time.After(lockedPause):
		return true
	case <-ctx.Done():
		return false
	}
}

// begin registers a task until end is called.
func (t *tasks) begin(ctx context.Context, id event.ID) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped[id] {
		cancel(errTaskStopped)
	}
	t.running[id] = cancel
	return ctx, func() {
		cancel(nil)
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.running, id)
	}
}

// Interrupt implements [runtime.Runtime]. It does not wait for the sub-agent to end.
func (t *tasks) Interrupt(_ context.Context, id event.ID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.running[id]; cancel != nil {
		cancel(errTaskStopped)
	} else {
		t.stopped[id] = true
	}
	return nil
}

// interruptAll stops the tasks that run or are about to.
func (t *tasks) interruptAll(ctx context.Context) error {
	var errs []error
	for _, a := range pendingTasks(t.w.State()) {
		errs = append(errs, t.Interrupt(ctx, a.ID))
	}
	return errors.Join(errs...)
}

// reset forgets the tasks that were stopped in an earlier run.
func (t *tasks) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.stopped)
}

// Close implements [runtime.Runtime].
func (*tasks) Close() error { return nil }

// pendingTasks are the tasks that wait for their results.
func pendingTasks(s *state.State) []*event.ActionEvent {
	return slices.DeleteFunc(slices.Clone(s.Pending), func(a *event.ActionEvent) bool {
		switch a.Action.(type) {
		case *event.TaskAction, *event.WorkflowAction:
			return false
		}
		return true
	})
}

// assign gives a task to the conversation of its sub-agent, which it makes if need be, and
// starts it.
func (t *tasks) assign(ctx context.Context, id, owner event.ID, a *event.TaskAction) (*Conversation, error) {
	if strings.TrimSpace(a.Prompt) == "" {
		return nil, fault.New(fault.Invalid, "the task is empty: its prompt says what the agent is to do")
	}
	var child *Conversation
	var err error
	if a.Resume != nil && *a.Resume != "" {
		child, err = t.earlier(ctx, *a.Resume)
	} else {
		child, err = t.childOf(ctx, id, a)
	}
	if err != nil {
		return nil, err
	}
	given, err := assignee{child}.has(ctx, id)
	if err != nil {
		return child, err
	}
	if !given && a.Resume != nil {
		if err := t.w.c.Delegation().update(ctx, child); err != nil {
			return child, err
		}
	}
	if assigned := t.w.c.m.o.Assigned; assigned != nil {
		assigned(child)
	}
	// The message has the id of the action: it is sent once.
	err = t.w.c.Delegation().send(ctx, child, Message{ID: id, Role: event.RoleUser, Content: event.Texts(a.Prompt), Run: true})
	if err != nil || !given {
		return child, err
	}
	if stopped, err := t.w.c.Delegation().stoppedSince(ctx, owner); err != nil || !stopped {
		return child, err
	}
	return child, assignee{child}.resumePaused(ctx) // as its parent
}

// earlier returns the sub-agent with a task_id.
func (t *tasks) earlier(ctx context.Context, task string) (*Conversation, error) {
	if id, ok := event.ParseConversationID(strings.TrimSpace(task)); ok {
		child, err := t.w.c.m.Get(ctx, id)
		if err == nil && child.parentID() == t.w.c.id {
			return child, nil
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	known, err := t.known(ctx)
	if err != nil {
		return nil, err
	}
	return nil, fault.New(fault.NotFound, fmt.Sprintf("there is no task %q to go on with; the tasks of this conversation are: %s", clipped(task), cmp.Or(known, "none")))
}

// known lists the tasks of the conversation.
func (t *tasks) known(ctx context.Context) (string, error) {
	c := t.w.c
	c.mu.Lock()
	children := slices.Clone(c.rec.Children)
	c.mu.Unlock()
	var all []string
	for _, id := range children {
		child, err := c.m.Get(ctx, id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		if kind := child.SubAgent(); kind != "" {
			all = append(all, string(id)+" ("+kind+")")
		}
	}
	return strings.Join(all, ", "), nil
}

// clipped shortens a text of the model for a message to it.
func clipped(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}

// childOf returns the conversation of the sub-agent of an action, and makes it if an
// earlier process has not.
func (t *tasks) childOf(ctx context.Context, action event.ID, a *event.TaskAction) (*Conversation, error) {
	c := t.w.c
	id, ok := event.ParseConversationID(string(action))
	if !ok {
		return nil, fault.New(fault.Invalid, "the action "+string(action)+" has an id that no conversation can have")
	}
	child, err := c.m.Get(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return c.Delegation().makeSubAgent(ctx, id, a)
	case err != nil:
		return nil, err
	case child.parentID() != c.id: // of the conversation that this is a fork of
		return nil, fault.New(fault.Conflict, "this task was given in the conversation from which this one was forked; give it anew if its result is needed")
	}
	return child, nil
}

// setAsking notes whether a sub-agent waits for a confirmation.
func (t *tasks) setAsking(child *Conversation, waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking = slices.DeleteFunc(t.asking, func(c *Conversation) bool { return c == child })
	if waits {
		t.asking = append(t.asking, child)
		close(t.asks)
		t.asks = make(chan struct{})
	}
}

// nextAsking takes a sub-agent that waits for a confirmation, nil if none does, and returns a
// channel that is closed when another one does.
func (t *tasks) nextAsking() (child *Conversation, asks <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.asking) > 0 {
		child, t.asking = t.asking[0], t.asking[1:]
	}
	return child, t.asks
}

// failedTask is the observation of a task that did not come to an end.
func failedTask(child *Conversation, a *event.TaskAction, err error) event.Observation {
	o := &event.TaskObservation{TaskID: noTask, Subagent: a.SubagentType, Status: taskError}
	if child != nil {
		o.TaskID, o.Subagent = string(child.id), child.SubAgent()
	}
	text := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		text += "\n" + hint
	}
	o.Content, o.IsError = event.Texts(text), true
	return o
}

// begun returns the sub-agent of an action if there is one.
func (t *tasks) begun(ctx context.Context, a *event.ActionEvent) *Conversation {
	task := string(a.ID)
	if r := a.Action.(*event.TaskAction).Resume; r != nil && *r != "" {
		task = *r
	}
	child, err := t.earlier(ctx, task)
	if err != nil {
		return nil
	}
	return child
}
