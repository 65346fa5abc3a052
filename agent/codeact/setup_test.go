package codeact_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/think"
)

// stub is a model that keeps the last request and answers as configured.
type stub struct {
	info llm.Info
	resp *llm.Response
	err  error
	last llm.Request
}

func (m *stub) Info() llm.Info { return m.info }

func (m *stub) Generate(_ context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	m.last = r
	if m.err != nil {
		return nil, m.err
	}
	if m.resp == nil {
		return says("ok"), nil
	}
	return m.resp, nil
}

func says(text string) *llm.Response {
	return &llm.Response{ID: "r", Message: event.Message{Role: event.RoleAssistant, Content: event.Texts(text)}}
}

// terminal is a tool that takes a command and is never run.
func terminal() *tool.Definition {
	return &tool.Definition{
		Name: "terminal", Kind: "TerminalTool", Description: "Runs a command.",
		Parameters: tool.Schema{Properties: []tool.Property{{Name: "command", Type: "string", Required: true}}},
		ActionKind: "TerminalAction", ObservationKind: "TerminalObservation",
		Guidance: "<SHELL>\nQuote paths.\n</SHELL>",
		Decode:   tool.DecodeInto[event.TerminalAction],
	}
}

func tools(t testing.TB, more ...*tool.Definition) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(append([]*tool.Definition{terminal(), think.Definition(), finish.Definition()}, more...)...)
	must.Succeed(t, err)
	return set
}

func newAgent(t testing.TB, c codeact.Config) *codeact.Agent {
	t.Helper()
	if c.Tools == nil {
		c.Tools = tools(t)
	}
	a, err := codeact.New(c)
	must.Succeed(t, err)
	return a
}

// step asks the agent with the given view and model.
func step(a *codeact.Agent, m llm.Model, s *state.State) ([]event.Event, error) {
	return a.Step(context.Background(), agent.Turn{
		State: s, LLM: func(string) llm.Model { return m },
		Delta: func(event.ID, llm.Delta) {}, Session: "s",
	})
}

// prompt returns the messages that the model is sent for a view.
func prompt(t fataler, a *codeact.Agent, info llm.Info, view []event.Event) []event.Message {
	m := &stub{info: info}
	for range 2 { // the first step may say that a message was cut
		if _, err := step(a, m, &state.State{View: view}); err != nil {
			t.Fatal(err)
		}
		if m.last.Messages != nil {
			break
		}
	}
	return m.last.Messages
}

type fataler interface{ Fatal(args ...any) }

// show writes messages for comparison, one to the line; * marks the cached ones.
func show(msgs []event.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		b.WriteString(string(m.Role))
		if m.ToolCallID != "" {
			b.WriteString(" " + m.ToolCallID)
		}
		for _, c := range m.Content {
			text := c.Text
			if c.Type == event.TypeImage {
				text = "IMAGE"
			}
			fmt.Fprintf(&b, " %q", text)
			if c.CachePrompt {
				b.WriteString("*")
			}
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " [%s %s]", c.ID, c.Name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// The events that views are made of.

func system() *event.SystemPromptEvent {
	dyn := event.Text("dynamic")
	return &event.SystemPromptEvent{Base: event.Base{ID: "sys"}, SystemPrompt: event.Text("static"), DynamicContext: &dyn}
}

func user(text string) *event.MessageEvent {
	m := event.NewUserMessage(text)
	m.ID = event.ID("user-" + text)
	return m
}

func reply(text string) *event.MessageEvent {
	return &event.MessageEvent{
		Base:       event.Base{ID: event.ID("reply-" + text), Source: event.SourceAgent},
		LLMMessage: event.Message{Role: event.RoleAssistant, Content: event.Texts(text)},
	}
}

func call(id, response, thought string) *event.ActionEvent {
	a := &event.ActionEvent{
		Base: event.Base{ID: event.ID("act-" + id), Source: event.SourceAgent}, ToolName: "terminal", ToolCallID: id,
		ToolCall: event.ToolCall{ID: id, Name: "terminal", Arguments: "{}"}, LLMResponseID: response,
		Action: &event.TerminalAction{Command: "true"},
	}
	if thought != "" {
		a.Thought = event.Texts(thought)
	}
	return a
}

func result(id, text string) *event.ObservationEvent {
	o := &event.ThinkObservation{}
	if text != "" {
		o.Content = event.Texts(text)
	}
	return &event.ObservationEvent{Base: event.Base{ID: event.ID("obs-" + id)}, ToolCallID: id, ActionID: event.ID("act-" + id), ToolName: "terminal", Observation: o}
}

func failed(id, text string) *event.AgentErrorEvent {
	return &event.AgentErrorEvent{Base: event.Base{ID: event.ID("err-" + id)}, ToolCallID: id, ToolName: "terminal", Error: text}
}

func rejected(id string) *event.UserRejectObservation {
	return &event.UserRejectObservation{Base: event.Base{ID: event.ID("rej-" + id)}, ToolCallID: id, RejectionReason: "no"}
}

func summary(text string) *event.CondensationSummaryEvent {
	return &event.CondensationSummaryEvent{Base: event.Base{ID: event.ID("sum-" + text)}, Summary: text}
}

var _ memory.Condenser = (*condenser)(nil)

// condenser is a memory.Condenser that answers as configured.
type condenser struct {
	needed bool
	event  *event.Condensation
	err    error
	asked  int
}

func (*condenser) Show(view []event.Event) []event.Event { return view }

func (*condenser) Forgets() bool { return true }

func (c *condenser) Needed(memory.Turn) bool { return c.needed }

func (c *condenser) Condense(context.Context, memory.Turn) (*event.Condensation, error) {
	c.asked++
	return c.event, c.err
}

// streamed is a model that gives its answer in pieces.
type streamed struct{ stub }

func (m *streamed) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	onDelta(llm.Delta{Text: "o"})
	onDelta(llm.Delta{Text: "k"})
	return m.stub.Generate(ctx, r, onDelta)
}

func streaming(a *codeact.Agent, seen func(event.ID)) []event.Event {
	evs, err := a.Step(context.Background(), agent.Turn{
		State: &state.State{View: []event.Event{user("hi")}},
		LLM:   func(string) llm.Model { return &streamed{} },
		Delta: func(id event.ID, _ llm.Delta) { seen(id) },
	})
	if err != nil {
		return nil
	}
	return evs
}
