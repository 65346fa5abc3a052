package gemini

import (
	"context"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// tokens provides access tokens of Google Cloud. They are not fetched with the
// client of the configuration, whose exchanges may be logged.
type tokens struct {
	cloud *cloud
	end   *exchange.Endpoint
}

func newTokens(end *exchange.Endpoint, c *cloud) *tokens { return &tokens{c, end} }

// get returns a token. Errors are *llm.Error, except the error of a context that
// has ended.
func (t *tokens) get(ctx context.Context) (string, error) {
	if t.cloud.token != "" {
		return t.cloud.token, nil
	}
	err := t.cloud.credErr
	if err == nil {
		var token string
		if token, err = t.cloud.cred.Token(ctx); err == nil {
			return token, nil
		}
		if ctx.Err() != nil {
			return "", err
		}
	}
	kind := fault.KindOf(err)
	e := llm.NewError(kind, t.end.Provider, t.end.Model, "there is no access token", err).Hint(fault.HintOf(err))
	e.Retryable = kind == fault.Unavailable
	return "", e
}
