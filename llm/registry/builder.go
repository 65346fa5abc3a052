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

// Builder makes the models of profiles: the adapter, retries, fallbacks and the
// router for images. Profiles, Open and Env are required.
type Builder struct {
	Profiles *Profiles
	// Open makes an adapter, as route.New does.
	Open func(llm.Config) (llm.Model, error)
	// Env reads environment variables.
	Env func(string) string
	// Complete adds settings from the environment or the catalogue, such as
	// addresses and quirks; nil for none.
	Complete func(*llm.Config, Profile)
	// KeyVariables returns the environment variables that may hold the key of a
	// model, as route.KeyVariables does; nil for none.
	KeyVariables func(model string) []string
	// Cipher unseals keys; nil without a key ring.
	Cipher Cipher
	// Broker has the options of all models. The retries of a profile and the
	// breaker of its endpoint take precedence.
	Broker   broker.Options
	Breakers *broker.Breakers // nil for none
	// OnSwitch is called when a call moves to a fallback; nil for none.
	OnSwitch func(broker.Switched)
	// HTTPClient returns the client of a profile, for debug logs and tests; nil
	// takes the adapters' own.
	HTTPClient func(p Profile, key llm.Secret) *http.Client
}

// Build makes the model of a profile, without a request. Fallbacks and vision
// models of other profiles than this one are ignored. Under a spending limit, a
// model of unknown price is an error of kind Invalid.
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
			return nil, fault.New(fault.Invalid, fmt.Sprintf("profile %s: %s is in its fallback chain twice", name, other))
		}
		next, err := b.named(other, i+1 < len(p.Fallback))
		if err != nil {
			return nil, fmt.Errorf("profile %s: fallback: %w", name, err)
		}
		chain = append(chain, next)
	}
	return broker.NewFallback(b.OnSwitch, chain...)
}

// Single makes the model of a profile without its fallbacks and its vision
// model, and with Broker.Attempts attempts: for testing a profile.
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

// single makes the model of one profile. hasNext reports that it has a
// fallback.
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
		return nil, fault.New(fault.Invalid, fmt.Sprintf("profile %s: a spending limit cannot be enforced: the price of %s is unknown", name, p.Model)).
			Hint("set the prices of the profile (--input-price, --output-price), or omit --max-cost")
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

// refreshKey makes the model again if its key was refused and the file has a
// new one: issuers replace tokens in files.
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
