package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// The values of TaskObservation.status. Those of the reference are the first two.
const (
	taskCompleted   = "completed"
	taskError       = "error"
	taskInterrupted = "interrupted" // the user has stopped it, and has written something else
)

// noTask is the task_id of a task that was not given to anybody.
const noTask = "unknown"

// tasks runs the tasks that a conversation's agent gives to sub-agents. The conversation of
// a sub-agent has the id of the action, so a task is begun once however often it is asked
// for, and asked for again it is joined.
//
// A task that is stopped together with its parent has no result: the next run of the
// parent asks for it again, and it goes on.
type tasks struct {
	w *worker

	mu      sync.Mutex
	running map[event.ID]context.CancelCauseFunc
	stopped map[event.ID]bool // before they began
	asking  []*Conversation   // sub-agents that wait for a confirmation
	asks    chan struct{}     // closed when another one does
}

var _ runtime.Runtime = (*tasks)(nil)

func newTasks(w *worker) *tasks {
	return &tasks{w: w, running: map[event.ID]context.CancelCauseFunc{}, stopped: map[event.ID]bool{}, asks: make(chan struct{})}
}

// errTaskStopped is why a task ends that is stopped with its parent.
var errTaskStopped = fault.New(fault.Canceled, "the sub-agent was interrupted")

// errNoSubAgent is what comes of a task in a replay, which is paid for by nobody.
var errNoSubAgent = fault.New(fault.Unsupported, "a replay calls no model, so nobody did this task")

// Execute implements [runtime.Runtime] for [event.TaskAction]. The error is of kind
// fault.Canceled if the task was stopped.
func (t *tasks) Execute(ctx context.Context, r tool.Request) (event.Observation, error) {
	a, ok := r.Action.(*event.TaskAction)
	if !ok {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("a sub-agent cannot be given a %T", r.Action))
	}
	if t.w.c.replaying.Load() != nil {
		return failedTask(nil, a, errNoSubAgent), nil
	}
	work, end := t.begin(ctx, r.ID)
	defer end()
	child, err := t.assign(work, r.ID, a)
	for errors.Is(err, ErrLocked) && pauseLocked(work) {
		child, err = t.assign(work, r.ID, a)
	}
	if err == nil {
		err = child.follow(work, t.asked)
	}
	switch {
	case ctx.Err() != nil: // this process ends, and the sub-agent with it
		return nil, ctx.Err()
	case errors.Is(context.Cause(work), errTaskStopped):
		return nil, errors.Join(errTaskStopped, child.interrupted(ctx))
	case fault.Is(err, fault.Unavailable), fault.Is(err, fault.Full), fault.Is(err, fault.Corrupt):
		return nil, err
	case err != nil:
		return failedTask(child, a, err), nil
	}
	return child.result(ctx)
}

// lockedPause is how long a sub-agent that is locked is left alone. Only who has the lock of
// its parent works on it, so another process has it for a moment: one that was told that the
// process before has ended, and leaves it again.
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

// begin notes that a task runs until end is called.
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

// reset forgets what was stopped in an earlier run.
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
		_, task := a.Action.(*event.TaskAction)
		return !task
	})
}

// assign gives a task to the conversation of its sub-agent, which it makes if need be, and
// sees that it works.
func (t *tasks) assign(ctx context.Context, id event.ID, a *event.TaskAction) (*Conversation, error) {
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
	given, err := child.has(ctx, id)
	if err != nil {
		return child, err
	}
	if !given && a.Resume != nil {
		if err := t.w.c.bringUpToDate(ctx, child); err != nil {
			return child, err
		}
	}
	// The message has the id of the action: it is sent once.
	err = child.Send(ctx, Message{ID: id, Role: event.RoleUser, Content: event.Texts(a.Prompt), Run: true})
	if err != nil || !given {
		return child, err
	}
	if stopped, err := t.w.c.stoppedSince(ctx, id); err != nil || !stopped {
		return child, err
	}
	return child, child.goOn(ctx) // with its parent, which was paused
}

// stoppedSince reports whether the user has stopped the conversation since an event.
func (c *Conversation) stoppedSince(ctx context.Context, id event.ID) (bool, error) {
	given, err := c.m.o.Store.Get(ctx, c.id, id)
	if err != nil {
		return false, err
	}
	stop, err := c.latest(ctx, (&event.PauseEvent{}).Kind(), (&event.InterruptEvent{}).Kind())
	return err == nil && stop.Seq > given.Seq, err
}

// latest returns the last event of some kinds, the zero value if there is none.
func (c *Conversation) latest(ctx context.Context, kinds ...string) (eventstream.Record, error) {
	page, err := c.m.o.Store.Search(ctx, c.id, eventstream.Query{Kinds: kinds, Order: eventstream.Descending, Limit: 1})
	if err != nil || len(page.Records) == 0 {
		return eventstream.Record{}, err
	}
	return page.Records[0], nil
}

// has reports whether an event is in the conversation, without starting it.
func (c *Conversation) has(ctx context.Context, id event.ID) (bool, error) {
	_, err := c.m.o.Store.Get(ctx, c.id, id)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// goOn runs a conversation that is paused.
func (c *Conversation) goOn(ctx context.Context) error {
	info, err := c.m.o.Store.Info(ctx, c.id)
	if err != nil || state.Status(info.Status) != state.Paused {
		return err
	}
	if err = c.Run(ctx); errors.Is(err, ErrRunning) {
		return nil
	}
	return err
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
		if kind := child.subAgent(); kind != "" {
			all = append(all, string(id)+" ("+kind+")")
		}
	}
	return strings.Join(all, ", "), nil
}

// clipped is a text of a model's that is shown to it.
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
		return c.makeSubAgent(ctx, id, a)
	case err != nil:
		return nil, err
	case child.parentID() != c.id: // that of the conversation that this is a fork of
		return nil, fault.New(fault.Conflict, "this task was given in the conversation from which this one was forked; give it anew if its result is needed")
	}
	return child, nil
}

// asked notes that a sub-agent waits for a confirmation, or not any more.
func (t *tasks) asked(child *Conversation, waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking = slices.DeleteFunc(t.asking, func(c *Conversation) bool { return c == child })
	if waits {
		t.asking = append(t.asking, child)
		close(t.asks)
		t.asks = make(chan struct{})
	}
}

// nextAsking takes a sub-agent that waits for a confirmation, nil if none does, and returns
// what is closed when another one does.
func (t *tasks) nextAsking() (child *Conversation, asks <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.asking) > 0 {
		child, t.asking = t.asking[0], t.asking[1:]
	}
	return child, t.asks
}

// WaitOrAsked is [Conversation.Wait] that returns as well when a sub-agent, asking, waits
// for a confirmation. The conversation runs then. It is for one caller at a time.
func (c *Conversation) WaitOrAsked(ctx context.Context) (asking *Conversation, err error) {
	w := c.active.Load()
	if w == nil {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- w.Wait(ctx) }()
	defer func() {
		cancel()
		<-over
	}()
	for {
		asking, asks := w.tasks.nextAsking()
		if asking != nil {
			return asking, nil
		}
		select {
		case err := <-over:
			over <- err
			return nil, err
		case <-asks:
		}
	}
}

// follow returns when the conversation has come to an end, which a person may have to
// bring about: by a confirmation, for example, of which asked is told.
func (c *Conversation) follow(ctx context.Context, asked func(c *Conversation, waits bool)) error {
	defer asked(c, false)
	for {
		if err := c.Wait(ctx); err != nil {
			return err
		}
		if err := c.Failure(); err != nil {
			return fault.Wrap(err, fault.KindOf(err), "the sub-agent could not go on")
		}
		info, err := c.m.o.Store.Info(ctx, c.id)
		if err != nil {
			return err
		}
		asked(c, state.Status(info.Status) == state.Confirming)
		again, err := c.kick(ctx, state.Status(info.Status))
		switch {
		case errors.Is(err, errOver):
			return nil
		case err != nil:
			return err
		case again:
			continue
		}
		for _, err := range c.m.o.Store.Follow(ctx, c.id, info.Events+1) {
			if err != nil {
				return err
			}
			break
		}
	}
}

var errOver = errors.New("the sub-agent has come to an end")

// kick has a sub-agent go on that stands still in a status in which nobody else will have
// it go on. errOver if there is nothing to go on with.
func (c *Conversation) kick(ctx context.Context, now state.Status) (again bool, err error) {
	switch now {
	case state.Finished, state.Errored, state.Stuck:
		return false, errOver
	case state.Running: // an earlier process was killed, or a run has just begun
		err = c.m.resume(ctx, c.id)
	case state.Idle:
		var rejected bool
		if rejected, err = c.rejected(ctx); err != nil || !rejected {
			return false, err
		}
		err = c.Run(ctx) // it is told why
	default:
		return false, nil
	}
	if errors.Is(err, ErrLocked) {
		return pauseLocked(ctx), ctx.Err()
	}
	if fault.Is(err, fault.Conflict) { // it runs
		return false, nil
	}
	return err == nil, err
}

// rejected reports whether the last thing that happened is that the user has refused the
// agent's actions.
func (c *Conversation) rejected(ctx context.Context) (bool, error) {
	s, err := c.State(ctx)
	if err != nil || len(s.View) == 0 {
		return false, err
	}
	_, rejected := s.View[len(s.View)-1].(*event.UserRejectObservation)
	return rejected, nil
}

// interrupted stops a sub-agent; c is nil if there is none yet.
func (c *Conversation) interrupted(ctx context.Context) error {
	if c == nil || !c.busy() {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := c.Interrupt(ctx); err != nil {
		return fmt.Errorf("interrupt the sub-agent: %w", err)
	}
	return c.Wait(ctx)
}

// subAgent returns the type of agent of a task's conversation, "" for any other.
func (c *Conversation) subAgent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.SubAgent
}

// result is the observation of a task whose sub-agent has come to an end.
func (c *Conversation) result(ctx context.Context) (event.Observation, error) {
	w, err := c.work(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.countInHost(ctx, w); err != nil {
		return nil, err
	}
	s := w.Latest()
	o := &event.TaskObservation{TaskID: string(c.id), Subagent: c.subAgent(), Status: taskCompleted}
	text := finalResponse(s)
	switch s.Status {
	case state.Errored:
		o.Status, o.IsError = taskError, true
		why, err := c.lastError(ctx)
		if err != nil {
			return nil, err
		}
		text = "The sub-agent has ended in an error: " + cmp.Or(why, "it is not known which")
	case state.Stuck:
		o.Status, o.IsError = taskError, true
		text = "The sub-agent was stopped because it did the same again and again."
	}
	o.Content = event.Texts(cmp.Or(text, "The sub-agent has finished without an answer."))
	return o, nil
}

// lastError is the error that a conversation has ended in, "" if it is not known.
func (c *Conversation) lastError(ctx context.Context) (string, error) {
	rec, err := c.latest(ctx, (&event.ConversationErrorEvent{}).Kind())
	if err != nil || rec.Seq == 0 {
		return "", err
	}
	ev, err := rec.Event()
	if e, ok := ev.(*event.ConversationErrorEvent); ok {
		return e.Detail, nil
	}
	return "", err
}

// failedTask is the observation of a task that did not come to an end.
func failedTask(child *Conversation, a *event.TaskAction, err error) event.Observation {
	o := &event.TaskObservation{TaskID: noTask, Subagent: a.SubagentType, Status: taskError}
	if child != nil {
		o.TaskID, o.Subagent = string(child.id), child.subAgent()
	}
	text := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		text += "\n" + hint
	}
	o.Content, o.IsError = event.Texts(text), true
	return o
}

// answerStopped answers the tasks of a conversation that was paused and gets a message
// instead of going on: the agent decides what becomes of them.
func (c *Conversation) answerStopped(ctx context.Context, w *worker) error {
	if w.Busy() || w.Latest().Status != state.Paused {
		return nil
	}
	var evs []event.Event
	for _, a := range pendingTasks(w.Latest()) {
		o := &event.TaskObservation{TaskID: noTask, Status: taskInterrupted}
		o.Subagent = a.Action.(*event.TaskAction).SubagentType
		text := "The user has interrupted this before the sub-agent began."
		if child := w.tasks.begun(ctx, a); child != nil {
			o.TaskID, o.Subagent = string(child.id), child.subAgent()
			text = "The user has interrupted the sub-agent and written to you. It can go on: give its task_id as resume, with a prompt."
		}
		o.Content = event.Texts(text)
		evs = append(evs, &event.ObservationEvent{
			Base: event.NewBase(event.SourceEnvironment), ToolName: a.ToolName, ToolCallID: a.ToolCallID, ActionID: a.ID, Observation: o,
		})
	}
	if len(evs) == 0 {
		return nil
	}
	return w.Record(ctx, evs...)
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
