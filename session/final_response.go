package session

import (
	"context"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// FinalResponse returns the message with which the agent finished, or its last
// reply; "" if it has not answered.
func (c *Conversation) FinalResponse(ctx context.Context) (string, error) {
	s, err := c.State(ctx)
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
