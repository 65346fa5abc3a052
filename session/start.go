package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// start makes a worker within the start timeout.
func (c *Conversation) start(ctx context.Context, host *worker) (*worker, error) {
	limited, cancel := context.WithTimeoutCause(ctx, c.m.o.StartTimeout, errStartTimeout)
	defer cancel()
	w, err := c.newWorkerLimited(limited, host)
	if err != nil && errors.Is(context.Cause(limited), errStartTimeout) && ctx.Err() == nil {
		return nil, errors.Join(errStartTimeout, c.recordFailure(ctx, "StartTimeout", errStartTimeout))
	}
	return w, err
}

// errStartTimeout ends a start that takes too long.
var errStartTimeout = fault.New(fault.Timeout, "the conversation did not get ready to work in time").
	Hint("look at its MCP servers and its sandbox, then run it again")

// recordFailure ends the conversation in an error, without a controller, and
// saves the summary of that: to show the conversation must not start it again.
func (c *Conversation) recordFailure(ctx context.Context, code string, cause error) error {
	ctx = context.WithoutCancel(ctx)
	unlock, err := c.m.lock(ctx, c.id) // the start may not have got that far
	if err != nil {
		return err
	}
	defer unlock()
	f, err := c.foldStored(ctx)
	if err != nil {
		return err
	}
	s := f.State()
	failed := &event.ConversationErrorEvent{
		Base: event.NewBase(event.SourceEnvironment), Code: code, Detail: cause.Error(),
	}
	status, err := event.NewStateUpdate(state.KeyStatus, state.Errored)
	if err != nil {
		return err
	}
	if failed.ParentID = s.Head; s.Head == "" && !f.Empty() {
		failed.ParentID = event.Root
	}
	failed.Timestamp = max(s.LastTime, event.Now())
	status.Timestamp = failed.Timestamp
	if _, err := c.m.o.Store.Append(ctx, c.id, failed, status); err != nil {
		return err
	}
	for i, ev := range []event.Event{failed, status} {
		if err := f.Apply(s.Seq+int64(i)+1, ev); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.summarize(f.State(), time.Now()); err != nil {
		return err
	}
	return c.save(ctx)
}

// foldStored folds the events of a conversation that has no controller.
func (c *configuration) foldStored(ctx context.Context) (*state.Fold, error) {
	f := state.NewFold(func(seq int64) (event.Event, error) {
		for rec, err := range c.m.o.Store.Read(ctx, c.id, eventstream.Seq(seq)) {
			if err != nil {
				return nil, err
			}
			return rec.Event()
		}
		return nil, fault.New(fault.Corrupt, fmt.Sprintf("event %d is missing", seq))
	})
	for rec, err := range c.m.o.Store.Read(ctx, c.id, 1) {
		if err != nil {
			return nil, err
		}
		ev, err := rec.Event()
		if err == nil {
			err = f.Apply(int64(rec.Seq), ev)
		}
		if err != nil {
			return nil, fmt.Errorf("fold conversation %s: %w", c.id, err)
		}
	}
	return f, nil
}
