package controller

import (
	"encoding/json"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// The state field with the number of follow-ups, as the reference has it, and beside it the message of
// the user since which they are counted.
const (
	keyAgentState = "agent_state"
	keyIteration  = "iterative_refinement_iteration"
	keyTask       = "iterative_refinement_task"
)

// finished returns the events for the agent's end by a call of finish, which the event id has answered:
// a message with which it goes on, or the event of [Controller.ends].
func (c *Controller) finished(now *state.State, a *event.ActionEvent, id event.ID) []event.Event {
	if c.cfg.FollowUp == nil {
		return []event.Event{c.ends(id)}
	}
	fields, n := followUps(now)
	text := c.cfg.FollowUp(a, n+1)
	if text == "" {
		return []event.Event{c.ends(id)}
	}
	fields[keyIteration], fields[keyTask] = n+1, now.LastUserMessage
	m := event.NewUserMessage(text)
	m.Source, m.Sender = event.SourceEnvironment, "critic"
	return append(c.masked([]event.Event{m}), update(keyAgentState, fields))
}

// followUps returns the agent's state, and the number of follow-ups since the user's last message.
func followUps(s *state.State) (fields map[string]any, n int) {
	var had struct {
		N    int      `json:"iterative_refinement_iteration"`
		Task event.ID `json:"iterative_refinement_task"`
	}
	raw := s.Fields[keyAgentState]
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		fields = map[string]any{}
	}
	if json.Unmarshal(raw, &had) == nil && had.Task == s.LastUserMessage {
		n = max(had.N, 0)
	}
	return fields, n
}
