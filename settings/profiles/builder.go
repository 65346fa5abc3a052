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

// Builder opens LLMs: the adapter, behind the layer that retries, with the
// fallbacks and the model for images that an LLM names. Profiles and Open are
// required.
type Builder struct {
	Profiles *LLMs
	// Open makes an adapter, as route.New does.
	Open func(llm.Config) (llm.Model, error)
	// Catalog describes models; nil takes the embedded one.
	Catalog *catalog.Catalog
	// Complete sets fields that an LLM leaves open, such as addresses from the
	// environment and the HTTP client; nil changes nothing.
	Complete func(*llm.Config)
	// KeyVariables names the variables that may hold the key of a model, as
	// route.KeyVariables does; nil for none.
	KeyVariables func(model string) []string
	// Broker is used as it is, except that the LLM decides about retries and that
	// each endpoint has a breaker of its own.
	Broker   broker.Options
	Breakers *broker.Breakers // nil for none
	// Priced refuses a model of unknown price under a spending limit at once. Otherwise its
	// first call is refused.
	Priced bool
	// OnSwitch is called when a call moves on to a fallback; nil for no call.
	OnSwitch func(broker.Switched)
}

// source is an LLM with the way to get its key.
type source struct {
	llm     *spec.LLM
	key     func() (llm.Secret, error)
	renewed bool // whether key may return another key later
}

// Model opens an LLM that has its key already, such as one of [LLMs.Load], and
// the profiles that it names; those that these name are ignored. It makes no
// request. key, unless it is nil, reads the key, which may change. Under a
// spending limit, a model of unknown price is an error of kind Invalid if Priced.
func (b *Builder) Model(ctx context.Context, l *spec.LLM, key func() (llm.Secret, error)) (llm.Model, error) {
	if key != nil {
		return b.chain(ctx, source{llm: l, key: key, renewed: true})
	}
	return b.chain(ctx, source{llm: l, key: func() (llm.Secret, error) { return l.APIKey, nil }})
}

// Single opens the LLM of a profile without its fallbacks and its model for
// images, and tries each call as often as Broker.Attempts says, to test it.
func (b *Builder) Single(ctx context.Context, name string) (llm.Model, error) {
	return b.named(ctx, name, func(s source) (llm.Model, error) {
		s.llm.NumRetries = b.Broker.Attempts
		return b.single(s, false)
	})
}

// named opens the LLM of a profile, with its provider connection, by open. Errors
// have the name of the profile.
func (b *Builder) named(ctx context.Context, name string, open func(source) (llm.Model, error)) (llm.Model, error) {
	p, err := b.Profiles.opened(ctx, name)
	if err != nil {
		return nil, err
	}
	var usual []string
	if b.KeyVariables != nil {
		usual = b.KeyVariables(p.LLM.Model)
	}
	if err = p.LLM.Resolve(b.Profiles.connections.Find(ctx), name); err != nil {
		return nil, err
	}
	m, err := open(source{p.LLM, func() (llm.Secret, error) { return p.key(b.Profiles.env, usual) }, p.KeyFile != ""})
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	return m, nil
}

// chain opens an LLM and the profiles that it names.
func (b *Builder) chain(ctx context.Context, s source) (llm.Model, error) {
	var x spec.LLMExtras
	if s.llm.Deft != nil {
		x = *s.llm.Deft
	}
	next := func(hasNext bool) func(source) (llm.Model, error) {
		return func(s source) (llm.Model, error) { return b.single(s, hasNext) }
	}
	m, err := next(len(x.Fallback) > 0)(s)
	if err != nil {
		return nil, err
	}
	if x.Vision != "" {
		sees, err := b.named(ctx, x.Vision, next(len(x.Fallback) > 0))
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
		if slices.Contains(x.Fallback[:i], other) {
			return nil, fault.New(fault.Invalid, other+" is in its chain of fallbacks twice")
		}
		m, err := b.named(ctx, other, next(i+1 < len(x.Fallback)))
		if err != nil {
			return nil, fmt.Errorf("fallback: %w", err)
		}
		chain = append(chain, m)
	}
	return broker.NewFallback(b.OnSwitch, chain...)
}

// single opens one LLM. hasNext is true if a fallback follows it.
func (b *Builder) single(s source, hasNext bool) (llm.Model, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	m, err := b.adapter(s.llm, key)
	if err != nil {
		return nil, err
	}
	o := s.llm.Broker(b.Broker)
	if b.Priced && o.Budget != nil && !m.Info().Price.Known {
		return nil, fault.New(fault.Invalid, "a spending limit cannot be enforced: the price of "+s.llm.Model+" is unknown").
			Hint("give its prices with --input-price and --output-price, to a profile with `deft llm profile set`, or leave --max-cost out")
	}
	o.SkipOpen = hasNext
	if s.llm.TakesImages() {
		o.NoImages = nil // the user knows better
	}
	if b.Breakers != nil {
		endpoint := m.Info().Provider
		if base := s.llm.BaseURL; base != nil && *base != "" {
			endpoint = *base
		}
		o.Breaker = b.Breakers.For(endpoint)
	}
	if o.Refresh == nil && s.renewed {
		o.Refresh = b.reread(s, key)
	}
	return &preset{broker.New(m, o), s.llm}, nil
}

func (b *Builder) adapter(l *spec.LLM, key llm.Secret) (llm.Model, error) {
	cfg := l.Config(b.Catalog)
	cfg.APIKey = key
	if b.Complete != nil {
		b.Complete(&cfg)
	}
	return b.Open(cfg)
}

// reread opens the adapter again, with the key that the file has now, after a key
// was refused: whoever issues short-lived tokens replaces the file.
func (b *Builder) reread(s source, first llm.Secret) func(context.Context) (llm.Model, error) {
	return func(context.Context) (llm.Model, error) {
		key, err := s.key()
		if err != nil {
			return nil, err
		}
		if key == first {
			return nil, fault.New(fault.Auth, "the key file still holds the key that was refused")
		}
		return b.adapter(s.llm, key)
	}
}

// preset is a model whose calls have the settings of an LLM.
type preset struct {
	llm.Model
	llm *spec.LLM
}

// Generate implements llm.Model.
func (m *preset) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	return m.Model.Generate(ctx, m.llm.Request(r), onDelta)
}
