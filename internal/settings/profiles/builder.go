package profiles

import (
	"context"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/spec"
)

// Builder makes the models of LLM profiles: the adapter, behind the layer that
// retries, and the fallbacks and the router that a profile names. Profiles and
// Open are required.
type Builder struct {
	Profiles *LLMs
	// Open makes an adapter, as route.New does.
	Open func(llm.Config) (llm.Model, error)
	// Catalog describes models; nil takes the embedded one.
	Catalog *catalog.Catalog
	// Complete fills in what a profile leaves open, such as addresses from the
	// environment and the HTTP client; nil changes nothing.
	Complete func(*llm.Config)
	// KeyVariables names the variables that may hold the key of a model, as
	// route.KeyVariables does; nil for none.
	KeyVariables func(model string) []string
	// Broker is taken over, except for the retries and the breaker, which are
	// those of the profile and of its endpoint.
	Broker   broker.Options
	Breakers *broker.Breakers // nil for none
	// OnSwitch is called when a call moves on to a fallback; nil for no call.
	OnSwitch func(broker.Switched)
}

// Build makes the model of a profile. It makes no request. Fallbacks and the
// vision model of other profiles than the named one are not followed. Under a
// spending limit, a model of unknown price is an error of kind Invalid.
func (b *Builder) Build(ctx context.Context, name string) (llm.Model, error) {
	p, err := b.Profiles.Profile(ctx, name)
	if err != nil {
		return nil, err
	}
	m, err := b.chain(ctx, name, p)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	return m, nil
}

// Model makes the model of an LLM that has its key already, such as one of
// [LLMs.Load], with the profiles that it names.
func (b *Builder) Model(ctx context.Context, l *spec.LLM) (llm.Model, error) {
	c := *l
	return b.chain(ctx, "", Profile{LLM: &c})
}

func (b *Builder) chain(ctx context.Context, name string, p Profile) (llm.Model, error) {
	x := p.LLM.Extras()
	m, err := b.single(ctx, name, p, len(x.Fallback) > 0)
	if err != nil {
		return nil, err
	}
	if x.Vision != "" {
		sees, err := b.named(ctx, x.Vision, len(x.Fallback) > 0)
		if err != nil {
			return nil, err
		}
		if m, err = broker.NewImageRouter(sees, m, x.TextLimit); err != nil {
			return nil, err
		}
	}
	if len(x.Fallback) == 0 {
		return m, nil
	}
	chain := []llm.Model{m}
	for i, other := range x.Fallback {
		if other == name || slices.Contains(x.Fallback[:i], other) {
			return nil, fault.New(fault.Invalid, other+" is in its chain of fallbacks twice")
		}
		next, err := b.named(ctx, other, i+1 < len(x.Fallback))
		if err != nil {
			return nil, fmt.Errorf("fallback: %w", err)
		}
		chain = append(chain, next)
	}
	return broker.NewFallback(b.OnSwitch, chain...)
}

// Single makes the model of a profile without its fallbacks and its model for
// images, and tries each call as often as Broker.Attempts says: for finding out
// what works with it.
func (b *Builder) Single(ctx context.Context, name string) (llm.Model, error) {
	p, err := b.Profiles.Profile(ctx, name)
	if err != nil {
		return nil, err
	}
	p.LLM.NumRetries = b.Broker.Attempts
	m, err := b.single(ctx, name, p, false)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	return m, nil
}

func (b *Builder) named(ctx context.Context, name string, hasNext bool) (llm.Model, error) {
	p, err := b.Profiles.Profile(ctx, name)
	if err != nil {
		return nil, err
	}
	m, err := b.single(ctx, name, p, hasNext)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	return m, nil
}

// single makes the model of a profile alone. hasNext is true if a
// fallback follows it.
func (b *Builder) single(ctx context.Context, name string, p Profile, hasNext bool) (llm.Model, error) {
	p.LLM.Stream = true // profiles do not have this setting
	if err := p.LLM.Resolve(b.Profiles.connections.Find(ctx), name); err != nil {
		return nil, err
	}
	key, err := b.key(p)
	if err != nil {
		return nil, err
	}
	m, err := b.adapter(p, key)
	if err != nil {
		return nil, err
	}
	o := p.LLM.Broker(b.Broker)
	if o.Budget != nil && !m.Info().Price.Known {
		return nil, fault.New(fault.Invalid, "a spending limit cannot be enforced: the price of "+p.LLM.Model+" is unknown").
			Hint("give the profile its prices (--input-price, --output-price), or leave --max-cost out")
	}
	o.SkipOpen = hasNext
	if b.Breakers != nil {
		endpoint := m.Info().Provider
		if base := p.LLM.BaseURL; base != nil && *base != "" {
			endpoint = *base
		}
		o.Breaker = b.Breakers.For(endpoint)
	}
	if o.Refresh == nil && p.KeyFile != "" {
		o.Refresh = b.reread(p, key)
	}
	return &preset{Model: broker.New(m, o), profile: p}, nil
}

func (b *Builder) key(p Profile) (llm.Secret, error) {
	var usual []string
	if b.KeyVariables != nil {
		usual = b.KeyVariables(p.LLM.Model)
	}
	return p.key(b.Profiles.env, usual)
}

func (b *Builder) adapter(p Profile, key llm.Secret) (llm.Model, error) {
	cfg := p.LLM.Config(b.Catalog)
	cfg.APIKey = key
	if b.Complete != nil {
		b.Complete(&cfg)
	}
	return b.Open(cfg)
}

// reread makes the model anew when its key was refused and the file has
// another one now: the issuer of a token replaces its file.
func (b *Builder) reread(p Profile, first llm.Secret) func(context.Context) (llm.Model, error) {
	return func(context.Context) (llm.Model, error) {
		key, err := b.key(p)
		if err != nil {
			return nil, err
		}
		if key == first {
			return nil, fault.New(fault.Auth, "the key file still holds the key that was refused")
		}
		return b.adapter(p, key)
	}
}

// preset is a model whose calls have the settings of a profile.
type preset struct {
	llm.Model
	profile Profile
}

// Generate implements llm.Model.
func (m *preset) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	return m.Model.Generate(ctx, m.profile.LLM.Request(r), onDelta)
}
