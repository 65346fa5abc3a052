package spec_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/spec"
)

// model answers with an error, or with nothing to complain about.
type model struct {
	err  error
	seen *llm.Request
}

func (m model) Info() llm.Info { return llm.Info{} }

func (m model) Generate(_ context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	*m.seen = r
	return &llm.Response{}, m.err
}

func TestPing(t *testing.T) {
	t.Parallel()
	empty := llm.NewError(fault.Unavailable, "p", "m", "an empty answer", nil)
	empty.Code = llm.CodeEmpty
	refused := llm.NewError(fault.Auth, "p", "m", "wrong key", nil)
	for _, c := range []struct {
		answer error
		want   fault.Kind
	}{{nil, ""}, {empty, ""}, {refused, fault.Auth}} {
		var seen llm.Request
		ping := spec.Pinger(func(cfg llm.Config) (llm.Model, error) {
			if cfg.Model != "openai/x" {
				t.Errorf("config of %s", cfg.Model)
			}
			return model{c.answer, &seen}, nil
		})
		err := ping(t.Context(), spec.NewLLM("openai/x"))
		if err == nil && c.want != "" || err != nil && fault.KindOf(err) != c.want {
			t.Errorf("%v: %v", c.answer, err)
		}
		if len(seen.Messages) != 2 || seen.Messages[0].Role != event.RoleSystem || seen.MaxOutputTokens == 0 {
			t.Errorf("asked %+v", seen)
		}
	}
	broken := errors.New("no such provider")
	if err := spec.Pinger(func(llm.Config) (llm.Model, error) { return nil, broken })(t.Context(), spec.NewLLM("x")); !errors.Is(err, broken) {
		t.Error(err)
	}
}
