package build

import (
	"context"
	"log/slog"
	"strings"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
)

// Models implements [session.Models]: it opens the adapter that an LLM's model
// names, behind the layer that retries and keeps budgets.
type Models struct {
	breakers *broker.Breakers
	log      *slog.Logger
}

var _ session.Models = (*Models)(nil)

// NewModels returns Models that share their circuit breakers.
func NewModels(log *slog.Logger) *Models {
	return &Models{broker.NewBreakers(broker.BreakerOptions{}), log}
}

// Open implements [session.Models].
func (m *Models) Open(l *spec.LLM, o session.ModelOptions) (llm.Model, error) {
	if unused := l.Unused(); len(unused) > 0 {
		m.log.Warn("settings of the LLM have no effect here", "model", l.Model, "settings", unused)
	}
	cfg := l.Config(nil)
	adapter, err := route.New(cfg)
	if err != nil {
		return nil, err
	}
	endpoint := cfg.BaseURL
	if endpoint == "" {
		endpoint, _, _ = strings.Cut(l.Model, "/")
	}
	b := broker.Options{Breaker: m.breakers.For(endpoint), Budget: o.Budget}
	if o.Retried != nil {
		b.OnRetry = func(r broker.Retry) {
			o.Retried(RetryOf(l.UsageID, r), r.Err)
		}
	}
	return configured{broker.New(adapter, l.Broker(b)), l}, nil
}

// RetryOf is a retry of a service's call as the controller records it.
func RetryOf(service string, r broker.Retry) controller.Retry {
	return controller.Retry{
		UsageID: service, Model: r.Info.Name, Attempt: r.Attempt, Attempts: r.Of, Wait: r.Wait.Seconds(), Void: r.Void,
	}
}

// configured is a model whose calls have the settings of an LLM.
type configured struct {
	llm.Model
	l *spec.LLM
}

// Generate implements [llm.Model].
func (m configured) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	return m.Model.Generate(ctx, m.l.Request(r), onDelta)
}
