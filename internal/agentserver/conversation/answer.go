package conversation

import (
	"context"
	"slices"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/state"
)

func forkOptions(at event.ID, keep bool, meta eventstream.Meta) controller.ForkOptions {
	return controller.ForkOptions{At: at, KeepMetrics: keep, Meta: meta}
}

// FinalResponse returns the agent's last word: the message of its finish, or
// its last reply; "" if it has not spoken.
func (c *Conversation) FinalResponse(ctx context.Context) (string, error) {
	s, err := c.state(ctx)
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
