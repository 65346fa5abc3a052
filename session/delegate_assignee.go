package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// assignee is the conversation of a sub-agent, as the runtime of tasks uses it.
type assignee struct{ c *Conversation }

// has reports whether an event is in the conversation, without starting it.
func (a assignee) has(ctx context.Context, id event.ID) (bool, error) {
	_, err := a.c.m.o.Store.Get(ctx, a.c.id, id)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// resumePaused runs the conversation if it is paused, unless the user has paused it itself: with
// its parent it is interrupted.
func (a assignee) resumePaused(ctx context.Context) error {
	info, err := a.c.m.o.Store.Info(ctx, a.c.id)
	if err != nil || state.Status(info.Status) != state.Paused {
		return err
	}
	stop, err := latest(ctx, a.c, (&event.PauseEvent{}).Kind(), (&event.InterruptEvent{}).Kind())
	if err != nil || stop.Kind == (&event.PauseEvent{}).Kind() {
		return err
	}
	if err = a.c.Run(ctx); errors.Is(err, ErrRunning) {
		return nil
	}
	return err
}

// follow returns when the sub-agent has finished its task, for which a person may have to
// confirm an action: asked is called when that begins and when it is over.
func (a assignee) follow(ctx context.Context, asked func(c *Conversation, waits bool)) error {
	defer asked(a.c, false)
	for {
		if err := a.c.Wait(ctx); err != nil {
			return err
		}
		if err := a.c.Failure(); err != nil {
			return fault.Wrap(err, fault.KindOf(err), "the sub-agent could not go on")
		}
		info, err := a.c.m.o.Store.Info(ctx, a.c.id)
		if err != nil {
			return err
		}
		asked(a.c, state.Status(info.Status) == state.Confirming)
		again, err := a.resumeStalled(ctx, state.Status(info.Status))
		switch {
		case errors.Is(err, errOver):
			return nil
		case err != nil:
			return err
		case again:
			continue
		}
		for _, err := range a.c.m.o.Store.Follow(ctx, a.c.id, info.Events+1) {
			if err != nil {
				return err
			}
			break
		}
	}
}

var errOver = errors.New("the sub-agent has come to an end")

// resumeStalled restarts a sub-agent that nothing else will resume. errOver if it has
// nothing left to do.
func (a assignee) resumeStalled(ctx context.Context, now state.Status) (again bool, err error) {
	switch now {
	case state.Finished, state.Errored, state.Stuck:
		return false, errOver
	case state.Running: // an earlier process was killed, or a run has just begun
		err = a.c.m.resume(ctx, a.c.id)
	case state.Idle:
		var rejected bool
		if rejected, err = a.rejected(ctx); err != nil || !rejected {
			return false, err
		}
		err = a.c.Run(ctx) // the reason is in its events
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

// rejected reports whether the last event is the user's rejection of the agent's actions.
func (a assignee) rejected(ctx context.Context) (bool, error) {
	s, err := a.c.State(ctx)
	if err != nil || len(s.View) == 0 {
		return false, err
	}
	_, rejected := s.View[len(s.View)-1].(*event.UserRejectObservation)
	return rejected, nil
}

// stop interrupts the sub-agent; there may be none yet.
func (a assignee) stop(ctx context.Context) error {
	if a.c == nil || !a.c.busy() {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := a.c.Interrupt(ctx); err != nil {
		return fmt.Errorf("interrupt the sub-agent: %w", err)
	}
	return a.c.Wait(ctx)
}

// result is the observation of a task that has ended.
func (a assignee) result(ctx context.Context) (event.Observation, error) {
	w, err := a.c.work(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.countInHost(ctx); err != nil {
		return nil, err
	}
	s := w.Latest()
	o := &event.TaskObservation{TaskID: string(a.c.id), Subagent: a.c.SubAgent(), Status: taskCompleted}
	text := finalResponse(s)
	switch s.Status {
	case state.Errored:
		o.Status, o.IsError = taskError, true
		why, err := a.lastError(ctx)
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

// lastError returns the error that has ended the conversation, "" if it is not known.
func (a assignee) lastError(ctx context.Context) (string, error) {
	rec, err := latest(ctx, a.c, (&event.ConversationErrorEvent{}).Kind())
	if err != nil || rec.Seq == 0 {
		return "", err
	}
	ev, err := rec.Event()
	if e, ok := ev.(*event.ConversationErrorEvent); ok {
		return e.Detail, nil
	}
	return "", err
}

// latest returns the last event of a conversation of some kinds, the zero value if there is
// none.
func latest(ctx context.Context, c *Conversation, kinds ...string) (eventstream.Record, error) {
	page, err := c.m.o.Store.Search(ctx, c.id, eventstream.Query{Kinds: kinds, Order: eventstream.Descending, Limit: 1})
	if err != nil || len(page.Records) == 0 {
		return eventstream.Record{}, err
	}
	return page.Records[0], nil
}
