package memory_test

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/state"
)

// stub is a model whose answers are scripted by the number of the call.
type stub struct {
	info   llm.Info
	answer func(n int, r llm.Request) (string, error)
	calls  []llm.Request
}

func (m *stub) Info() llm.Info { return m.info }

func (m *stub) Generate(_ context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	m.calls = append(m.calls, r)
	text := "notes"
	if m.answer != nil {
		var err error
		if text, err = m.answer(len(m.calls), r); err != nil {
			return nil, err
		}
	}
	return &llm.Response{ID: "resp", Message: event.Message{Role: event.RoleAssistant, Content: event.Texts(text)}}, nil
}

// conversation builds a State event by event.
type conversation struct {
	fold *state.Fold
	seq  int64
	t    must.T
}

func talk(t must.T, evs ...event.Event) *conversation {
	t.Helper()
	c := &conversation{fold: state.NewFold(nil), t: t}
	c.add(evs...)
	return c
}

// add appends events, with ids of their own where they have none.
func (c *conversation) add(evs ...event.Event) {
	c.t.Helper()
	for _, ev := range evs {
		c.seq++
		if ev.Meta().ID == "" {
			ev.Meta().ID = event.ID(fmt.Sprint("e", c.seq))
		}
		must.Succeed(c.t, c.fold.Apply(c.seq, ev))
	}
}

// turn is a Turn for a state, without a Gauge.
func turn(s *state.State, m llm.Model, session event.ConversationID) memory.Turn {
	return memory.Turn{State: s, Session: session, LLM: func(string) llm.Model { return m }}
}

func (c *conversation) state() *state.State { return c.fold.State() }

func (c *conversation) ask() { c.add(&event.CondensationRequest{}) }

func system() event.Event { return &event.SystemPromptEvent{} }

func user(text string) event.Event {
	return &event.MessageEvent{Base: event.Base{Source: event.SourceUser}, LLMMessage: event.Message{Role: event.RoleUser, Content: event.Texts(text)}}
}

func call(id, response string) *event.ActionEvent {
	return &event.ActionEvent{ToolName: "terminal", ToolCallID: id, LLMResponseID: response, ToolCall: event.ToolCall{Arguments: `{"command":"ls"}`}}
}

func thinking(a *event.ActionEvent) *event.ActionEvent {
	a.ThinkingBlocks = event.List[event.ThinkingBlock]{{Thinking: "hm", Signature: "s"}}
	return a
}

func result(id, text string) event.Event {
	return &event.ObservationEvent{ToolName: "terminal", ToolCallID: id, Observation: &event.ThinkObservation{
		ObservationBase: event.ObservationBase{Content: event.Texts(text)},
	}}
}

// rounds returns n responses with one call each, and their results.
func rounds(n int) []event.Event {
	var evs []event.Event
	for i := range n {
		id := fmt.Sprint("c", i)
		evs = append(evs, call(id, "r"+id), result(id, "out"))
	}
	return evs
}

func ids(view []event.Event) []event.ID {
	var out []event.ID
	for _, ev := range view {
		out = append(out, ev.Meta().ID)
	}
	return out
}
