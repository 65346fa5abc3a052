package build

import (
	"context"
	"log/slog"
	"time"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// Models implements [session.Models]: it opens the adapter that an LLM's model
// names, behind the layer that retries and keeps budgets, with the fallbacks and the
// model for images that the LLM names. Make one with [NewModels].
type Models struct {
	// Profiles opens the saved profiles that LLMs name.
	Profiles func() (*profiles.Stores, error)
	// Breakers are shared by all models.
	Breakers *broker.Breakers
	// Catalog describes models; nil takes the embedded one.
	Catalog *catalog.Catalog
	// Complete sets fields that an LLM leaves open, such as addresses from the
	// environment and the HTTP client; nil changes nothing.
	Complete func(*llm.Config)
	// Priced refuses a model of unknown price under a spending limit. Without it, the
	// first call is refused.
	Priced bool
	// AtFirst limits the waits of a call while no server has answered at the model's address; see [broker.Options].
	AtFirst time.Duration
	// Reread returns how a key is read again that may have changed, nil for other keys;
	// nil for none.
	Reread func(llm.Secret) func() (llm.Secret, error)
	// Log gets warnings about settings without an effect.
	Log *slog.Logger
}

var _ session.Models = (*Models)(nil)

// NewModels returns Models that share their circuit breakers.
func NewModels(log *slog.Logger, saved func() (*profiles.Stores, error)) *Models {
	return &Models{Profiles: saved, Breakers: broker.NewBreakers(broker.BreakerOptions{}), Log: log}
}

// Adapter returns the model of a configuration, without retries.
func (m *Models) Adapter(cfg llm.Config) (llm.Model, error) {
	return route.Router{Catalog: m.Catalog}.New(cfg)
}

// Builder makes models of LLMs and of saved profiles. A key in LLM_API_KEY is not used for
// profiles: it would be shown to a provider that it does not belong to.
func (m *Models) Builder(saved *profiles.LLMs, b broker.Options, onSwitch func(broker.Switched)) *profiles.Builder {
	b.Catalog = m.Catalog
	return &profiles.Builder{
		Profiles: saved, Open: m.Adapter, Catalog: m.Catalog, Complete: m.Complete, KeyVariables: route.KeyVariables,
		Broker: b, Breakers: m.Breakers, Priced: m.Priced, OnSwitch: onSwitch,
	}
}

// Open implements [session.Models].
func (m *Models) Open(l *spec.LLM, o session.ModelOptions) (llm.Model, error) {
	if unused := l.Unused(); len(unused) > 0 {
		m.Log.Warn("settings of the LLM have no effect here", "model", l.Model, "settings", unused)
	}
	var saved *profiles.LLMs
	if len(l.Profiles()) > 0 {
		stores, err := m.Profiles()
		if err != nil {
			return nil, err
		}
		saved = stores.LLMs
	}
	b := broker.Options{AtFirst: m.AtFirst, Budget: o.Budget, NoImages: o.NoImages, OnNoImages: o.OnNoImages}
	var switched func(broker.Switched)
	if o.Retried != nil {
		b.OnRetry = func(r broker.Retry) {
			o.Retried(controller.Retry{
				UsageID: l.UsageID, Model: r.Info.Name, Attempt: r.Attempt, Attempts: r.Of, Wait: r.Wait.Seconds(), Void: r.Void, Change: r.Change,
			}, r.Err)
		}
		switched = func(s broker.Switched) {
			o.Retried(controller.Retry{UsageID: l.UsageID, Model: s.From.Name, Next: s.To.Name, Void: s.Void}, s.Err)
		}
	}
	var reread func() (llm.Secret, error)
	if m.Reread != nil {
		reread = m.Reread(l.APIKey)
	}
	return m.Builder(saved, b, switched).Model(context.Background(), l, reread) // which reads files and makes no request
}
