package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session/internal/title"
	"github.com/deft-dev/deft/state"
)

// Assistant answers questions about a conversation that are no part of it.
type Assistant struct{ c *Conversation }

// Assistant returns the assistant of the conversation.
func (c *Conversation) Assistant() Assistant { return Assistant{c} }

// Ask answers a question about the conversation without becoming part of it.
func (a Assistant) Ask(ctx context.Context, question string) (string, error) {
	w, err := a.c.work(ctx)
	if err != nil {
		return "", err
	}
	if err := w.takeModel(ctx); err != nil {
		return "", err
	}
	answer, err := w.res.Agent().Ask(ctx, w.models.get("ask-agent-llm"), w.Latest(), a.c.id, question)
	if err != nil {
		return "", fmt.Errorf("ask the agent: %w", err)
	}
	return a.c.secrets.Mask(answer), nil
}

// FinalResponse returns the message with which the agent finished, or its last
// reply; "" if it has not answered.
func (a Assistant) FinalResponse(ctx context.Context) (string, error) {
	s, err := a.c.State(ctx)
	if err != nil {
		return "", err
	}
	return finalResponse(s), nil
}

func finalResponse(s *state.State) string {
	for _, ev := range slices.Backward(s.View) {
		switch e := ev.(type) {
		case *event.ActionEvent:
			if f, ok := e.Action.(*event.FinishAction); ok {
				return f.Message
			}
		case *event.MessageEvent:
			if e.Source == event.SourceAgent {
				return event.JoinText(e.LLMMessage.Content)
			}
		}
	}
	return ""
}

// ErrNoMessages is returned for the title of a conversation without messages.
var ErrNoMessages = fault.New(fault.Invalid, "No user messages found in conversation events")

// GenerateTitle writes a title for the conversation as it is.
func (a Assistant) GenerateTitle(ctx context.Context, length int) (string, error) {
	w, err := a.c.work(ctx)
	if err != nil {
		return "", err
	}
	text := firstMessage(w.Latest())
	if text == "" {
		return "", ErrNoMessages
	}
	written, err := w.title.write(ctx, text, length, func(done func(context.Context) error) error { return done(ctx) })
	if err != nil {
		a.c.m.o.Log.Info("no title from the model", "conversation", a.c.id, "err", err)
		return title.Cut(text, length), nil
	}
	return written, nil
}
