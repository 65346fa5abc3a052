package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// Results that the model gets for calls without an ordinary one.
const (
	effectUnknown = "This call was cut off by a crash while it ran. Whether it took effect, wholly or in part, is unknown, and it was not repeated. Check before you decide to do it again."
	sandboxEnded  = "The sandbox ended while this call ran (%s). Whether the call took effect, wholly or in part, is unknown, and it was not repeated. Further calls have a fresh sandbox: the shell and other processes are gone, and files outside the workspace may be. Check before you decide to do it again."
	neverBegan    = "This call was not made: the user interrupted before it began."
)

// execute runs a batch of actions and appends their answers in call order,
// each as soon as it and those before it are there. An error means that the
// runtime or the stream failed; actions without an answer stay pending. If it
// may, it begins the next step with the last answer, and returns it.
func (c *Controller) execute(whole context.Context, r *run, batch []*event.ActionEvent, again, mayStep bool) (next *pendingStep, err error) {
	if !again {
		c.announce(whole, r, batch)
	}
	ctx, cancel := context.WithCancel(whole)
	answers, wait := c.performAll(ctx, r, batch, again)
	defer func() {
		cancel()
		wait()
	}()
	for i, a := range batch {
		got := <-answers[i]
		if got.err != nil {
			return nil, got.err
		}
		_, finish := a.Action.(*event.FinishAction)
		answered := func(now *state.State) ([]event.Event, error) {
			evs := append(slices.Clip(got.notes.Events), got.ev)
			if finish && !got.failed && !messageSince(now.View, a.ID) && (c.answered == "" || c.answered == now.LastUserMessage) {
				evs = append(evs, c.finished(now, a, got.ev.Meta().ID)...)
			}
			return evs, nil
		}
		var during func(*state.State)
		if mayStep && i == len(batch)-1 {
			during = func(s *state.State) { next = c.ahead(whole, r, s) }
		}
		if err := c.appendDuring(ctx, answered, during); err != nil {
			next.discard()
			return nil, err
		}
		c.cfg.Hooks.Recorded(got.notes)
		if rt, _ := c.runtimeOf(a); rt != nil {
			if k, ok := rt.(runtime.Acknowledger); ok {
				k.Ack(a.ID)
			}
		}
	}
	return next, nil
}

// announce calls Config.BeforeActions.
func (c *Controller) announce(ctx context.Context, r *run, batch []*event.ActionEvent) {
	forRuntime := func(a *event.ActionEvent) bool {
		rt, def := c.runtimeOf(a)
		_, task := a.Action.(*event.TaskAction) // whose sub-agent works there
		return rt != nil && (!def.Local || task)
	}
	if c.cfg.BeforeActions == nil {
		return
	}
	ctx, cancel := r.cancelable(ctx)
	defer cancel()
	c.cfg.BeforeActions(ctx, batch, slices.ContainsFunc(batch, forRuntime))
}

// performAll has actions performed, those beside one another that may be; each
// answer comes in its own channel. wait returns when all have ended.
func (c *Controller) performAll(ctx context.Context, r *run, batch []*event.ActionEvent, again bool) (answers []chan outcome, wait func()) {
	answers = make([]chan outcome, len(batch))
	ended := make([]chan struct{}, len(batch))
	for i := range batch {
		answers[i], ended[i] = make(chan outcome, 1), make(chan struct{})
	}
	slots := make(chan struct{}, c.cfg.Parallel)
	locks := c.locks(batch)
	perform := func(i int) {
		defer close(ended[i])
		for j := range i {
			if locks[i].meets(locks[j]) {
				<-ended[j]
			}
		}
		slots <- struct{}{}
		defer func() { <-slots }()
		answers[i] <- c.perform(ctx, r, batch[i], again)
	}
	switch {
	case len(batch) == 1: // as it mostly is
		perform(0)
	case c.cfg.Parallel == 1: // in order: an edit comes before the test of it
		go func() {
			for i := range batch {
				perform(i)
			}
		}()
	default:
		for i := range batch {
			go perform(i)
		}
	}
	return answers, func() {
		for _, e := range ended {
			<-e
		}
	}
}

// messageSince reports whether the user wrote after the event id: then the
// agent has not seen it, and must not be done.
func messageSince(view []event.Event, id event.ID) bool {
	for _, ev := range slices.Backward(view) {
		if ev.Meta().ID == id {
			return false
		}
		if m, ok := ev.(*event.MessageEvent); ok && m.Source == event.SourceUser {
			return true
		}
	}
	return false
}

// outcome is the result of an action: an event, or an error that ends the run.
type outcome struct {
	ev     event.Event
	notes  hook.Verdict // of hooks after the action, whose events stand before ev
	failed bool
	err    error
}

func (c *Controller) perform(ctx context.Context, r *run, a *event.ActionEvent, again bool) outcome {
	written := c.newActions.take(a.ID)
	if written != nil {
		again = false
	}
	rt, def := c.runtimeOf(a)
	if rt == nil {
		return refused(a, "The tool "+a.ToolName+" is not available any more.")
	}
	blocked, err := c.beforeTool(ctx, a, again)
	if err != nil || blocked != nil {
		return outcome{ev: blocked, failed: true, err: err}
	}
	if !r.begin(a.ID, rt) {
		if again { // an earlier process may have begun it
			return refused(a, effectUnknown)
		}
		return refused(a, neverBegan)
	}
	defer r.end(a.ID)
	runs, err := c.restored(ctx, a, written)
	if err != nil {
		return refused(a, "This call was not made: "+err.Error()+". "+fault.HintOf(err))
	}
	got := c.ask(ctx, r, rt, def, runs, again)
	c.cfg.OnOutputEnd(a.ID)
	if c.cfg.Guard != nil && got.ev != nil {
		got.ev = c.cfg.Guard.Mask(got.ev)
	}
	if got.err == nil {
		got.notes, got.err = c.afterTool(ctx, a, got.ev, again)
	}
	return got
}

// restored returns an action with the values that are masked in the store. written is the action
// as the model wrote it, nil if another process stored it.
func (c *Controller) restored(ctx context.Context, a, written *event.ActionEvent) (*event.ActionEvent, error) {
	if c.cfg.Guard == nil {
		return a, nil
	}
	runs := *a
	if written != nil {
		runs.Action = written.Action
	}
	var err error
	runs.Action, err = c.cfg.Guard.Restore(ctx, runs.Action, written == nil)
	return &runs, err
}

// ask has the runtime do an action. One that the runtime gives up because the run is to
// stop (fault.Canceled) is not answered: the next run asks for it again.
func (c *Controller) ask(ctx context.Context, r *run, rt runtime.Runtime, def *tool.Definition, a *event.ActionEvent, again bool) outcome {
	var secrets tool.Secrets
	if c.cfg.Guard != nil {
		secrets = c.cfg.Guard.Secrets(ctx, a.Action)
	}
	obs, err := rt.Execute(ctx, tool.Request{
		Call: tool.Call{
			ID: a.ID, Action: a.Action, Tool: a.ToolName, Secrets: secrets,
			Progress: func(ch tool.Chunk) { c.cfg.OnOutput(a.ID, ch) },
		},
		Again: again, Tail: again,
	})
	switch {
	case err == nil:
		return outcome{ev: &event.ObservationEvent{
			Base: event.NewBase(event.SourceEnvironment), ToolName: def.Name, ToolCallID: a.ToolCallID,
			ActionID: a.ID, Observation: obs,
		}, failed: obs.Result().IsError}
	case ctx.Err() != nil:
		return outcome{err: ctx.Err()}
	case fault.Is(err, fault.Canceled) && r.stopped() != goOn:
		return outcome{err: err}
	case fault.Is(err, fault.Interrupted):
		if ended, ok := errors.AsType[*runtime.EndedError](err); ok {
			return refused(a, fmt.Sprintf(sandboxEnded, ended.Reason))
		}
		return refused(a, effectUnknown)
	case fault.Is(err, fault.Unavailable):
		return outcome{err: fmt.Errorf("run %s: %w", a.ToolName, err)}
	default:
		c.cfg.Log.Warn("tool failed", "tool", a.ToolName, "action", a.ID, "err", err)
		return refused(a, "The tool itself failed: "+err.Error())
	}
}

func refused(a *event.ActionEvent, why string) outcome {
	return outcome{failed: true, ev: event.NewAgentErrorEvent(a, why, &event.ErrorClassification{Kind: "internal", UserAction: "none"})}
}

// runtimeOf returns where an action runs, or nil if its tool is gone.
func (c *Controller) runtimeOf(a *event.ActionEvent) (runtime.Runtime, *tool.Definition) {
	def := c.cfg.Agent.Tools().Get(a.ToolName)
	switch {
	case def == nil || a.Action == nil:
		return nil, nil
	case def.Local:
		return c.cfg.Local, def
	}
	return c.cfg.Runtime, def
}

// lockSet has the resources that an action uses exclusively.
type lockSet struct {
	all  bool
	keys []string
}

func (l lockSet) meets(o lockSet) bool {
	if l.all || o.all {
		return true
	}
	return slices.ContainsFunc(l.keys, func(k string) bool { return slices.Contains(o.keys, k) })
}

// locks returns the locks of each action. A finish waits for all before it.
func (c *Controller) locks(batch []*event.ActionEvent) []lockSet {
	sets := make([]lockSet, len(batch))
	for i, a := range batch {
		def := c.cfg.Agent.Tools().Get(a.ToolName)
		_, finish := a.Action.(*event.FinishAction)
		if def == nil || def.Locks == nil || finish {
			sets[i].all = true
			continue
		}
		sets[i].keys = def.Locks(a.Action)
	}
	return sets
}

// begin notes that an action runs, unless the run is being interrupted.
func (r *run) begin(id event.ID, rt runtime.Runtime) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping == interrupting {
		return false
	}
	r.active[id] = rt
	return true
}

func (r *run) end(id event.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.active, id)
}
