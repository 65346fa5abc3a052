package spec

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// pingTokens bounds the answer to a ping: the fewest that all providers take.
const pingTokens = 16

// Pinger returns how to see whether a model's settings are right: by one short
// call, without retries. open makes the adapter (route.New). An answer without
// text is one as well: some models think through so few tokens.
func Pinger(open func(llm.Config) (llm.Model, error)) func(context.Context, *LLM) error {
	return func(ctx context.Context, l *LLM) error {
		m, err := open(l.Config(nil))
		if err != nil {
			return err
		}
		r := l.Request(llm.Request{MaxOutputTokens: pingTokens, Messages: []event.Message{
			message(event.RoleSystem, "Answer with one word."), message(event.RoleUser, "ping"),
		}})
		_, err = llm.Complete(ctx, m, r, nil)
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.CodeEmpty {
			return nil
		}
		return err
	}
}

func message(role event.Role, text string) event.Message {
	return event.Message{Role: role, Content: event.List[event.Content]{event.Text(text)}}
}
