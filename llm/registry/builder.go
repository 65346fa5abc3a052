package registry

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

// Builder makes the models of profiles: the adapter, behind the layer that
// retries, and the fallbacks and the router that a profile names. Profiles,
// Open and Env are required.
type Builder struct {
	Profiles *Profiles
	// Open makes an adapter, as route.New does.
	Open func(llm.Config) (llm.Model, error)
	// Env reads environment variables.
	Env func(string) string
	// Complete fills in what a profile leaves to the environment or to the
	// catalogue, such as addresses and quirks; nil for nobody.
	Complete func(*llm.Config, Profile)
	// KeyVariables names the variables that may hold the key of a model, as
	// route.KeyVariables does; nil for none.
	KeyVariables func(model string) []string
	// Cipher unseals keys; nil where there is no key ring.
	Cipher Cipher
	// Broker is taken over, except what the profile says: retries, and the
	// breaker, which is that of its endpoint.
	Broker   broker.Options
	Breakers *broker.Breakers // nil for none
	// OnSwitch is told when a call moves on to a fallback; nil for nobody.
	OnSwitch func(broker.Switched)
	// HTTPClient returns the client for a profile, for debug logs and tests;
	// nil takes the adapters' own.
	HTTPClient func(p Profile, key llm.Secret) *http.Client
}

// Build makes the model of a profile. It makes no request. Fallbacks and the
// vision model of other profiles than the named one are not followed. Under a
// spending limit, a model of unknown price is an error of kind Invalid.
func (b *Builder) Build(name string) (llm.Model, error) {
	p, err := b.Profiles.Get(name)
	if err != nil {
		return nil, err
	}
	m, err := b.single(name, p, len(p.Fallback) > 0)
	if err != nil {
		return nil, err
	}
	if p.Vision != "" {
		if m, err = b.withVision(p, m, len(p.Fallback) > 0); err != nil {
			return nil, fmt.Errorf("profile %s: %w", name, err)
		}
	}
	if len(p.Fallback) == 0 {
		return m, nil
	}
	chain := []llm.Model{m}
	for i, other := range p.Fallback {
		if other == name || slices.Contains(p.Fallback[:i], other) {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("profile %s: %s is in its chain of fallbacks twice", name, other))
		}
		next, err := b.named(other, i+1 < len(p.Fallback))
		if err != nil {
			return nil, fmt.Errorf("profile %s: fallback: %w", name, err)
		}
		chain = append(chain, next)
	}
	return broker.NewFallback(b.OnSwitch, chain...)
}

// Single makes the model of a profile without its fallbacks and its model for
// images, and asks it as often as Broker.Attempts says: for finding out what
// works with it.
func (b *Builder) Single(name string) (llm.Model, error) {
	p, err := b.Profiles.Get(name)
	if err != nil {
		return nil, err
	}
	p.NumRetries = b.Broker.Attempts
	return b.single(name, p, false)
}

func (b *Builder) withVision(p Profile, text llm.Model, hasNext bool) (llm.Model, error) {
	sees, err := b.named(p.Vision, hasNext)
	if err != nil {
		return nil, err
	}
	return broker.NewImageRouter(sees, text, p.TextLimit)
}

func (b *Builder) named(name string, hasNext bool) (llm.Model, error) {
	p, err := b.Profiles.Get(name)
	if err != nil {
		return nil, err
	}
	return b.single(name, p, hasNext)
}

// single makes the model of a profile alone. hasNext says that another model
// stands in for it.
func (b *Builder) single(name string, p Profile, hasNext bool) (llm.Model, error) {
	key, err := b.key(p)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	m, err := b.adapter(p, key)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	o := b.Broker
	if o.Budget != nil && !m.Info().Price.Known {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("profile %s: a spending limit cannot be kept: the price of %s is not known", name, p.Model)).
			Hint("give the profile its prices (--input-price, --output-price), or leave --max-cost out")
	}
	o.SkipOpen = hasNext
	o.Attempts = cmp.Or(p.NumRetries, o.Attempts)
	o.Multiplier = cmp.Or(p.RetryMultiplier, o.Multiplier)
	o.MinWait = cmp.Or(seconds(p.RetryMinWait), o.MinWait)
	o.MaxWait = cmp.Or(seconds(p.RetryMaxWait), o.MaxWait)
	if b.Breakers != nil {
		o.Breaker = b.Breakers.For(cmp.Or(p.BaseURL, m.Info().Provider))
	}
	if o.Refresh == nil && p.APIKeyFile != "" {
		o.Refresh = b.refreshKey(p, key)
	}
	return &preset{Model: broker.New(m, o), profile: p}, nil
}

func (b *Builder) key(p Profile) (llm.Secret, error) {
	var usual []string
	if b.KeyVariables != nil {
		usual = b.KeyVariables(p.Model)
	}
	return p.key(b.Env, usual, b.Cipher)
}

func (b *Builder) adapter(p Profile, key llm.Secret) (llm.Model, error) {
	cfg := p.config()
	cfg.APIKey = key
	if b.Complete != nil {
		b.Complete(&cfg, p)
	}
	if b.HTTPClient != nil {
		cfg.HTTPClient = b.HTTPClient(p, key)
	}
	return b.Open(cfg)
}

// refreshKey makes the model anew when its key was refused and the file has
// another one now: tokens in files are replaced by those who issue them.
func (b *Builder) refreshKey(p Profile, first llm.Secret) func(context.Context) (llm.Model, error) {
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

// preset is a model with the defaults of a profile.
type preset struct {
	llm.Model
	profile Profile
}

// Generate implements llm.Model.
func (m *preset) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	return m.Model.Generate(ctx, m.profile.apply(r), onDelta)
}
