package controller

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// superseded is the reason given for actions that waited for confirmation when
// a message came instead (docs/openhands/sdk-wire-1.58.md section B.5).
const superseded = "Superseded by a new user message"

// Send appends a message. While the conversation runs, the agent takes it in
// at its next step; otherwise Run is needed. The first message of a branch
// brings the system prompt along. The notes stand before the message.
func (c *Controller) Send(ctx context.Context, msg *event.MessageEvent, notes ...event.Event) error {
	return c.appendWith(ctx, func(now *state.State) ([]event.Event, error) {
		evs, err := c.message(now, msg, notes)
		switch now.Status {
		case state.Finished, state.Stuck, state.Confirming:
			evs = append(evs, status(state.Idle))
		}
		return evs, err
	})
}

// Refuse appends a message that a hook has blocked: the agent is not shown it. A conversation in
// which nothing runs has finished with it.
func (c *Controller) Refuse(ctx context.Context, msg *event.MessageEvent, notes ...event.Event) error {
	return c.appendWith(ctx, func(now *state.State) ([]event.Event, error) {
		evs := append(notes, msg)
		if now.Status == state.Idle {
			evs = append(evs, status(state.Finished))
		}
		return evs, nil
	})
}

// message returns the events that a message is appended as.
func (c *Controller) message(now *state.State, msg *event.MessageEvent, notes []event.Event) ([]event.Event, error) {
	var evs []event.Event
	if !c.opened(now.View) {
		open, err := c.cfg.Agent.Open()
		if err != nil {
			return nil, fmt.Errorf("open conversation: %w", err)
		}
		evs = append(evs, open...)
	}
	if now.Status == state.Confirming {
		evs = append(evs, rejections(now.Pending, superseded)...)
	}
	evs = append(append(evs, notes...), msg)
	if msg.Source == event.SourceUser {
		evs = append(evs, update("last_user_message_id", msg.ID))
	}
	return evs, nil
}

// opened reports whether the view has the system prompt of the agent.
func (c *Controller) opened(view []event.Event) bool {
	for _, ev := range view {
		if prompt, ok := ev.(*event.SystemPromptEvent); ok {
			again, ok := c.cfg.Agent.(agent.Reopener)
			return !ok || !again.Reopens(prompt)
		}
	}
	return false
}

// ErrNothingWaits is returned by [Controller.Reject] where no action waits for
// confirmation. Its kind is fault.Conflict.
var ErrNothingWaits = fault.New(fault.Conflict, "no action waits for confirmation")

// Reject refuses the actions that wait for confirmation; [ErrNothingWaits] if there
// are none.
func (c *Controller) Reject(ctx context.Context, reason string) error {
	return c.appendWith(ctx, func(now *state.State) ([]event.Event, error) {
		if now.Status != state.Confirming {
			return nil, ErrNothingWaits
		}
		return append(rejections(now.Pending, reason), status(state.Idle)), nil
	})
}

// RejectSome refuses some of the actions that wait for confirmation, each with a reason. The
// others go on waiting; without others it is [Controller.Reject].
func (c *Controller) RejectSome(ctx context.Context, reasons map[event.ID]string) error {
	return c.appendWith(ctx, func(now *state.State) ([]event.Event, error) {
		if now.Status != state.Confirming {
			return nil, ErrNothingWaits
		}
		var evs []event.Event
		for _, a := range now.Pending {
			if reason, ok := reasons[a.ID]; ok {
				evs = append(evs, rejections([]*event.ActionEvent{a}, reason)...)
			}
		}
		if len(evs) == len(now.Pending) {
			evs = append(evs, status(state.Idle))
		}
		return evs, nil
	})
}

func rejections(pending []*event.ActionEvent, reason string) []event.Event {
	var evs []event.Event
	for _, a := range pending {
		evs = append(evs, &event.UserRejectObservation{
			Base: event.NewBase(event.SourceEnvironment), ToolName: a.ToolName, ToolCallID: a.ToolCallID,
			ActionID: a.ID, RejectionReason: reason, RejectionSource: "user",
		})
	}
	return evs
}

// Update records a state update: something that holds for the conversation
// whatever its branch.
func (c *Controller) Update(ctx context.Context, key string, value any) error {
	ev, err := event.NewStateUpdate(key, value)
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	return c.append(ctx, ev)
}

// Record appends events of the environment, from outside of the conversation's
// loop.
func (c *Controller) Record(ctx context.Context, evs ...event.Event) error {
	return c.append(ctx, evs...)
}

// Navigate moves HEAD to an event of any branch, or to nothing for an empty
// id, so that the next event hangs there. Nothing is deleted. Conflict while
// the conversation runs, NotFound for an unknown event.
func (c *Controller) Navigate(ctx context.Context, to event.ID) error {
	return c.appendWith(ctx, func(*state.State) ([]event.Event, error) {
		if c.Busy() {
			return nil, fault.New(fault.Conflict, "the conversation is running").Hint("pause it first")
		}
		var value any
		if to != "" {
			if !c.fold.Has(to) {
				return nil, fault.New(fault.NotFound, "no event "+string(to)+" in this conversation")
			}
			value = to
		}
		return []event.Event{update(state.KeyHead, value), status(state.Idle)}, nil
	})
}

// ForkOptions say how a fork differs from its source.
type ForkOptions struct {
	// At is the event that the fork ends with; empty for HEAD.
	At event.ID
	// KeepMetrics lets the fork go on counting where its source was.
	KeepMetrics bool
	Meta        eventstream.Meta
}

// Fork makes the conversation dst share the path to an event. It takes no
// longer for a long history than for a short one.
func (c *Controller) Fork(ctx context.Context, dst event.ConversationID, o ForkOptions) error {
	c.mu.Lock()
	runs, err := c.fold.Runs(o.At)
	now := c.fold.State()
	c.mu.Unlock()
	if err != nil {
		return err
	}
	segments := make([]eventstream.Segment, len(runs))
	for i, r := range runs {
		segments[i] = eventstream.Segment{First: eventstream.Seq(r.First), Last: eventstream.Seq(r.Last)}
	}
	o.Meta.ForkOf = c.cfg.ID
	if err := c.cfg.Stream.Fork(ctx, dst, c.cfg.ID, segments, o.Meta); err != nil {
		return fmt.Errorf("fork conversation %s: %w", c.cfg.ID, err)
	}
	// Values that were set beside the path hold for the fork as well.
	evs := []event.Event{status(state.Idle)}
	for key, value := range now.Fields {
		evs = append(evs, update(key, value))
	}
	stats := state.Stats{}
	if o.KeepMetrics {
		stats = now.Stats.Totals()
	}
	evs = append(evs, update(state.KeyStats, stats))
	if _, err := c.cfg.Stream.Append(ctx, dst, evs...); err != nil {
		return fmt.Errorf("set up fork %s: %w", dst, err)
	}
	return nil
}
