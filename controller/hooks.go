package controller

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/state"
)

// keyEnding is the state field with the id of the event with which the agent has come to its
// end, while hooks are asked whether it may stop. It survives a crash in between.
const keyEnding = "ending"

// feedback begins the message of a hook that does not let the agent stop
// (docs/openhands/sdk-features-1.58.md section 3).
const feedback = "[Stop hook feedback] "

// beforeTool runs the hooks before an action and records them, before the action can begin. The
// event answers an action that a hook has blocked; nil if none has.
func (c *Controller) beforeTool(ctx context.Context, a *event.ActionEvent, again bool) (blocked event.Event, err error) {
	if !c.cfg.Hooks.Has(hook.PreToolUse) {
		return nil, nil
	}
	var v hook.Verdict
	if recorded := decisions(c.State(), a.ID); len(recorded) > 0 {
		v = hook.Decided(recorded)
	} else {
		v, err = c.cfg.Hooks.Run(ctx, hook.Event{Name: hook.PreToolUse, About: a.ID, Again: again, Action: a})
		if err == nil {
			err = c.append(ctx, c.masked(v.Events)...)
		}
		if err != nil {
			return nil, err
		}
		c.cfg.Hooks.Recorded(v)
	}
	if !v.Blocked {
		return nil, nil
	}
	return &event.UserRejectObservation{
		Base: event.NewBase(event.SourceEnvironment), ToolName: a.ToolName, ToolCallID: a.ToolCallID,
		ActionID: a.ID, RejectionReason: v.Reason, RejectionSource: event.RejectedByHook,
	}, nil
}

// decisions are the recorded hooks before a pending action.
func decisions(s *state.State, id event.ID) (all []*event.HookExecutionEvent) {
	for _, e := range s.Decisions {
		if e.ActionID == id {
			all = append(all, e)
		}
	}
	return all
}

// afterTool runs the hooks after an action; its events stand before the result.
func (c *Controller) afterTool(ctx context.Context, a *event.ActionEvent, answer event.Event, again bool) (v hook.Verdict, err error) {
	o, ok := answer.(*event.ObservationEvent)
	if !ok || !c.cfg.Hooks.Has(hook.PostToolUse) {
		return v, nil
	}
	raw, err := event.MarshalObservation(o.Observation)
	if err != nil {
		return v, err
	}
	v, err = c.cfg.Hooks.Run(ctx, hook.Event{Name: hook.PostToolUse, About: a.ID, Again: again, Action: a, ToolResponse: json.RawMessage(raw)})
	v.Events = c.masked(v.Events)
	return v, err
}

// ends returns the events for the agent's end with the event id: the status, or the beginning
// of the question to hooks.
func (c *Controller) ends(id event.ID) event.Event {
	if c.cfg.Hooks.Has(hook.Stop) {
		return update(keyEnding, id)
	}
	return status(state.Finished)
}

// hooksEnding returns the event with which the agent has come to its end if hooks have not decided
// about that; "" otherwise.
func (c *Controller) hooksEnding(s *state.State) (id event.ID) {
	if !c.cfg.Hooks.Has(hook.Stop) || !s.Field(keyEnding, &id) || id == "" {
		return ""
	}
	for _, ev := range slices.Backward(s.View) {
		switch ev.(type) {
		case *event.MessageEvent, *event.ActionEvent:
			if ev.Meta().ID != id {
				return ""
			}
			return id
		case *event.ObservationEvent: // others are of calls beside the finish
			if ev.Meta().ID == id {
				return id
			}
		}
	}
	return ""
}

// askToStop asks the hooks whether the agent may stop, and records its end or their feedback.
func (c *Controller) askToStop(ctx context.Context, id event.ID, again bool) error {
	v, err := c.cfg.Hooks.Run(ctx, hook.Event{Name: hook.Stop, About: id, Again: again, Reason: "agent_finished"})
	if err != nil {
		return err
	}
	evs := append(c.masked(v.Events), update(keyEnding, ""))
	if !v.Blocked {
		evs = append(evs, status(state.Finished))
	} else {
		why := v.Context
		if why == "" {
			why = v.Reason
		}
		evs = append(evs, c.masked([]event.Event{&event.MessageEvent{
			Base:       event.NewBase(event.SourceEnvironment),
			LLMMessage: event.Message{Role: event.RoleUser, Content: event.Texts(feedback + why)},
		}})...)
	}
	if err := c.append(ctx, evs...); err != nil {
		return err
	}
	c.cfg.Hooks.Recorded(v)
	return nil
}
