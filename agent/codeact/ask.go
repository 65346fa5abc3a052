package codeact

import (
	"context"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// Ask asks the model a question about the conversation and returns the answer.
// Neither becomes part of the conversation. Ask may be called during a step:
// calls without a result are left out.
func (a *Agent) Ask(ctx context.Context, m llm.Model, s *state.State, session event.ConversationID, question string) (string, error) {
	var h history
	var fit fitting
	_, messages := h.build(ctx, fit.view(a.show(answered(s)), m.Info()), m.Info())
	messages = append(messages, event.Message{Role: "user", Content: []event.Content{event.Text(question)}})
	resp, err := llm.Complete(ctx, m, llm.Request{Messages: messages, Session: string(session)}, func(llm.Delta) {})
	if err != nil {
		return "", err
	}
	return event.JoinText(resp.Message.Content), nil
}

// answered is the view up to the first call without an answer.
func answered(s *state.State) []event.Event {
	if len(s.Pending) == 0 {
		return s.View
	}
	first := s.Pending[0]
	i := slices.IndexFunc(s.View, func(ev event.Event) bool {
		a, ok := ev.(*event.ActionEvent)
		return ok && a.LLMResponseID == first.LLMResponseID
	})
	if i < 0 {
		return s.View
	}
	return s.View[:i]
}
