package controller

import (
	"bytes"
	"context"
	"slices"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// StuckThresholds say when an agent counts as stuck. Zero fields take the defaults
// of docs/openhands/sdk-features.md section 3. A negative ActionObservation
// switches the detection off.
type StuckThresholds struct {
	ActionObservation int // the same action with the same result; default 4
	ActionError       int // the same action failing the same way; default 3
	Monologue         int // messages of the agent without anything else; default 3
	Alternating       int // two actions in turn with the same results; default 6
	// Waiting is how often in a row a running command is polled without new
	// output; default 40.
	Waiting int
}

func (t StuckThresholds) withDefaults() StuckThresholds {
	for _, f := range []struct {
		at  *int
		def int
	}{{&t.ActionObservation, 4}, {&t.ActionError, 3}, {&t.Monologue, 3}, {&t.Alternating, 6}, {&t.Waiting, 40}} {
		if *f.at == 0 {
			*f.at = f.def
		}
	}
	return t
}

// window is how many events are looked at, from the end. It bounds the work
// of a step; the check for waiting looks at more.
const window = 20

// verdict is the detector's result.
type verdict int

const (
	fine verdict = iota
	nudge
	stuck
)

// nudgeSender marks the detector's own message.
const nudgeSender = "stuck-detector"

const nudgeText = "You have repeated the same steps with the same results. Repeating them again will not help: find out why they give what they give, try another way, or call finish and say what stands in the way."

func nudgeMessage() *event.MessageEvent {
	m := event.NewUserMessage(nudgeText)
	m.Source, m.Sender = event.SourceEnvironment, nudgeSender
	return m
}

// turn is an action with its result, or a message of the agent.
type turn struct {
	act     *event.ActionEvent // nil for a message
	result  event.Event
	failed  bool
	waiting bool // asked a running command for news, and there were none
	nudged  bool // the detector spoke after this turn
}

// check looks for repetition without progress since the last message of the
// user. Progress is anything new in a result: output, a changed file, an exit
// code. The first finding is a nudge; if the repetition goes on, it is stuck.
func (t StuckThresholds) check(view []event.Event) verdict {
	if t.ActionObservation < 0 {
		return fine
	}
	turns := recent(view, max(window, 2*t.Waiting+4))
	if len(turns) == 0 {
		return fine
	}
	last := turns[len(turns)-1]
	streak, limit := 0, 0
	switch {
	case last.act == nil:
		streak, limit = tail(turns, func(x turn) bool { return x.act == nil }), t.Monologue
	case last.waiting:
		streak, limit = tail(turns, func(x turn) bool { return x.act != nil && x.waiting }), t.Waiting
	case last.failed:
		streak, limit = tail(turns, func(x turn) bool { return same(x, last) }), t.ActionError
	default:
		streak, limit = tail(turns, func(x turn) bool { return same(x, last) }), t.ActionObservation
	}
	if v := judge(turns, streak, limit, 1); v != fine {
		return v
	}
	return judge(turns, alternating(turns), t.Alternating, 2)
}

// judge says nudge at the limit, and stuck when the streak has grown by
// period turns since the nudge.
func judge(turns []turn, streak, limit, period int) verdict {
	if streak < limit {
		return fine
	}
	for i, x := range slices.Backward(turns[len(turns)-streak:]) {
		if x.nudged {
			if streak-1-i >= period {
				return stuck
			}
			return fine
		}
	}
	return nudge
}

// tail counts the turns at the end that belong together.
func tail(turns []turn, in func(turn) bool) int {
	n := 0
	for _, x := range slices.Backward(turns) {
		if !in(x) {
			break
		}
		n++
	}
	return n
}

// alternating counts the turns at the end in which two take turns.
func alternating(turns []turn) int {
	n := len(turns)
	if n < 2 || same(turns[n-1], turns[n-2]) {
		return 0
	}
	streak := 2
	for i := n - 3; i >= 0 && same(turns[i], turns[i+2]); i-- {
		streak++
	}
	return streak
}

// recent returns the last turns since the user spoke, oldest first.
func recent(view []event.Event, most int) []turn {
	start := 0
	for i, ev := range slices.Backward(view) {
		if m, ok := ev.(*event.MessageEvent); ok && m.Source == event.SourceUser || len(view)-i > 3*most {
			start = i + 1
			break
		}
	}
	var turns []turn
	byCall := map[string]int{}
	answer := func(call string, ev event.Event, failed, waiting bool) {
		if i, ok := byCall[call]; ok {
			turns[i].result, turns[i].failed, turns[i].waiting = ev, failed, waiting
		}
	}
	for _, ev := range view[start:] {
		switch e := ev.(type) {
		case *event.ActionEvent:
			byCall[e.ToolCallID] = len(turns)
			turns = append(turns, turn{act: e})
		case *event.ObservationEvent:
			answer(e.ToolCallID, e, e.Observation.Result().IsError, false)
			if i, ok := byCall[e.ToolCallID]; ok {
				turns[i].waiting = waits(turns[i].act, e)
			}
		case *event.AgentErrorEvent:
			answer(e.ToolCallID, e, true, false)
		case *event.UserRejectObservation:
			answer(e.ToolCallID, e, true, false)
		case *event.MessageEvent:
			switch {
			case e.Sender == nudgeSender:
				if n := len(turns); n > 0 {
					turns[n-1].nudged = true
				}
			case e.Sender == agent.AsksAgain: // the agent bounds this itself
				if n := len(turns); n > 0 && turns[n-1].act == nil {
					turns = turns[:n-1]
				}
			case e.Source == event.SourceAgent:
				turns = append(turns, turn{result: e})
			}
		}
	}
	return turns
}

// waits reports whether an action asked a running command for news and got
// none.
func waits(act *event.ActionEvent, obs *event.ObservationEvent) bool {
	a, ok := act.Action.(*event.TerminalAction)
	if !ok || a.Command != "" || a.IsInput {
		return false
	}
	o, ok := obs.Observation.(*event.TerminalObservation)
	return ok && o.ExitCode != nil && *o.ExitCode == -1 && event.JoinText(o.Content) == ""
}

// same reports whether two turns did the same with the same result.
func same(a, b turn) bool {
	if a.act == nil || b.act == nil || a.act.ToolName != b.act.ToolName || a.failed != b.failed {
		return false
	}
	if a.act.ToolCall.Arguments != b.act.ToolCall.Arguments && !sameAction(a.act.Action, b.act.Action) {
		return false
	}
	return bytes.Equal(resultKey(a.result), resultKey(b.result))
}

func sameAction(a, b event.Action) bool {
	if a == nil || b == nil {
		return false
	}
	x, errX := event.MarshalAction(a)
	y, errY := event.MarshalAction(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// resultKey is the part of a result that counts when two are compared.
func resultKey(ev event.Event) []byte {
	switch e := ev.(type) {
	case *event.ObservationEvent:
		b, err := event.MarshalObservation(e.Observation)
		if err != nil {
			return nil
		}
		return b
	case *event.AgentErrorEvent:
		return []byte(e.Error)
	case *event.UserRejectObservation:
		return []byte(e.RejectionReason)
	}
	return nil
}

func (c *Controller) stopStuck(ctx context.Context) error {
	return c.append(ctx, &event.ConversationErrorEvent{
		Base: event.NewBase(event.SourceEnvironment), Code: "AgentStuck",
		Detail:         "The agent repeated the same steps without progress and was stopped.\nTell it what to try instead.",
		Classification: &event.ErrorClassification{Kind: "agent_action", Retryable: true, UserAction: "none"},
	}, status(state.Stuck))
}
