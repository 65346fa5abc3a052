package remote

import (
	"encoding/json"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/security"
)

// message is a message in the form of OpenAI's Chat Completions.
type message struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []call `json:"tool_calls,omitempty"`
	CallID    string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// messages are the case as messages: the last events before the action, at most history of
// them, and the action. The model's own rating is left out, since it would bias the service. A
// conversation begins with its system message, as the services expect it.
func messages(c security.Case, history int) []message {
	events := c.History[max(0, len(c.History)-history):]
	if len(events) < len(c.History) {
		if first, ok := c.History[0].(*event.SystemPromptEvent); ok {
			events = slices.Concat([]event.Event{first}, events)
		}
	}
	var all []message
	for _, ev := range slices.Concat(events, []event.Event{c.Action}) {
		if m, ok := messageOf(c, ev); ok {
			all = append(all, m)
		}
	}
	return all
}

func messageOf(c security.Case, ev event.Event) (m message, ok bool) {
	switch ev := ev.(type) {
	case *event.SystemPromptEvent:
		return message{Role: "system", Content: c.Text(event.JoinText([]event.Content{ev.SystemPrompt}))}, true
	case *event.MessageEvent:
		role := "user"
		if ev.Source == event.SourceAgent {
			role = "assistant"
		}
		return message{Role: role, Content: c.Text(event.JoinText(ev.LLMMessage.Content))}, true
	case *event.ActionEvent:
		return message{Role: "assistant", Content: c.Text(event.JoinText(ev.Thought)), ToolCalls: []call{{
			ID: ev.ToolCallID, Type: "function", Function: function{ev.ToolName, c.Text(unrated(ev.ToolCall.Arguments))},
		}}}, true
	case *event.ObservationEvent:
		return message{Role: "tool", Content: c.Text(event.JoinText(ev.Observation.Result().Content)), CallID: ev.ToolCallID}, true
	case *event.AgentErrorEvent:
		return message{Role: "tool", Content: c.Text(ev.Error), CallID: ev.ToolCallID}, true
	case *event.UserRejectObservation:
		return message{Role: "tool", Content: c.Text("The action was rejected. " + ev.RejectionReason), CallID: ev.ToolCallID}, true
	}
	return message{}, false
}

// unrated are a call's arguments without the model's own rating.
func unrated(arguments string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &fields) != nil || fields["security_risk"] == nil {
		return arguments
	}
	delete(fields, "security_risk")
	raw, err := json.Marshal(fields)
	if err != nil {
		return arguments
	}
	return string(raw)
}

// bounded shortens messages to a number of characters in total: what is before the action is
// left out, the oldest first, but not the system message, and of the action nothing.
func bounded(all []message, most int) []message {
	size := func(m message) int {
		n := len(m.Content)
		for _, c := range m.ToolCalls {
			n += len(c.Function.Arguments)
		}
		return n
	}
	total := 0
	for _, m := range all {
		total += size(m)
	}
	for i := 0; total > most && i < len(all)-1; {
		if all[i].Role == "system" {
			i++
			continue
		}
		total -= size(all[i])
		all = slices.Delete(all, i, i+1)
	}
	return all
}
