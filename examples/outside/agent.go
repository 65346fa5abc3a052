package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// Agent counts the words of the file that the user names. It follows a rule
// instead of an LLM.
type Agent struct{ tools *tool.Set }

var _ agent.Agent = (*Agent)(nil)

// NewAgent returns the agent.
func NewAgent() (*Agent, error) {
	tools, err := tool.NewSet(Definition())
	return &Agent{tools}, err
}

// Open implements [agent.Agent]: nothing comes before the first message.
func (*Agent) Open() ([]event.Event, error) { return nil, nil }

// Tools implements [agent.Agent].
func (a *Agent) Tools() *tool.Set { return a.tools }

// Step implements [agent.Agent]: a message of the user is answered with a call of
// the tool, and the result with a reply.
func (a *Agent) Step(_ context.Context, t agent.Turn) ([]event.Event, error) {
	if len(t.State.View) == 0 {
		return nil, fmt.Errorf("there is no message to answer")
	}
	switch last := t.State.View[len(t.State.View)-1].(type) {
	case *event.MessageEvent:
		return a.call(event.JoinText(last.LLMMessage.Content))
	case *event.ObservationEvent:
		return reply(event.JoinText(last.Observation.Result().Content)), nil
	case *event.AgentErrorEvent:
		return reply(last.Error), nil
	default:
		return nil, fmt.Errorf("no rule for a %s", last.Kind())
	}
}

func (a *Agent) call(path string) ([]event.Event, error) {
	args, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return nil, err
	}
	parsed, err := a.tools.Parse(Definition().Name, string(args))
	if err != nil {
		return nil, err
	}
	id := string(event.NewID())
	return []event.Event{&event.ActionEvent{
		Base: event.NewBase(event.SourceAgent), ToolName: Definition().Name, ToolCallID: id, Action: parsed.Action,
		ToolCall:     event.ToolCall{ID: id, Name: Definition().Name, Arguments: string(args), Origin: event.OriginCompletion},
		SecurityRisk: event.RiskLow,
	}}, nil
}

func reply(text string) []event.Event {
	return []event.Event{&event.MessageEvent{
		Base:       event.NewBase(event.SourceAgent),
		LLMMessage: event.Message{Role: event.RoleAssistant, Content: event.Texts(text)},
	}}
}
