package openhands

import (
	"cmp"
	"context"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// Check asks a Git host whether a token is good, and returns the user whose it is.
type Check func(ctx context.Context, provider string, token settings.ProviderToken) (userID string, err error)

// Apply stores the plan's settings; the user's other settings stay. Tokens that check
// refuses or cannot check are left and returned; a nil check takes all. Invalid if the
// settings do not fit together.
func (p *Plan) Apply(ctx context.Context, s *settings.Service, check Check) (left []Left, err error) {
	c := change{
		model: schema.NewMap(), agent: schema.NewMap(), conversation: schema.NewMap(), preferences: schema.NewMap(), servers: schema.NewMap(),
		services: map[settings.ServiceKey]llm.Secret{}, tokens: map[string]settings.ProviderToken{},
	}
	for _, to := range p.order {
		p.targets[to].set(&c)
	}
	if err := c.update(ctx, s); err != nil {
		return nil, err
	}
	for name, key := range c.services {
		if err := s.SetServiceKey(ctx, name, key); err != nil {
			return nil, err
		}
	}
	for _, one := range c.secrets {
		if err := s.SetSecret(ctx, one.name, one.value, one.description); err != nil {
			return nil, err
		}
	}
	for _, one := range c.profiles {
		l, err := spec.CheckLLM(one.model, schema.Reading{})
		if err == nil {
			l.Stream = true
			err = s.Profiles.LLMs.SaveProfile(ctx, one.name, profiles.Profile{LLM: l})
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.KindOf(err), "store the profile "+one.name)
		}
	}
	return p.setTokens(ctx, s, c.tokens, check)
}

// update changes the settings' document.
func (c *change) update(ctx context.Context, s *settings.Service) error {
	var d settings.Diff
	if c.model.Len() > 0 {
		c.agent.Set("llm", c.model)
	}
	if c.agent.Len() > 0 {
		d.Agent = c.agent
	}
	if c.conversation.Len() > 0 {
		d.Conversation = c.conversation
	}
	if c.preferences.Len() > 0 {
		d.Misc = settings.SetPreferences(c.preferences)
	}
	if c.servers.Len() > 0 {
		d.Servers = func(present *schema.Map) (*schema.Map, error) {
			all := present.Copy()
			for _, name := range c.servers.Keys() {
				all.Set(name, c.servers.Get(name))
			}
			return all, nil
		}
	}
	_, err := s.Update(ctx, d)
	return err
}

// setTokens stores tokens beside the tokens of other hosts.
func (p *Plan) setTokens(ctx context.Context, s *settings.Service, tokens map[string]settings.ProviderToken, check Check) (left []Left, err error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	hosts, err := s.ProviderHosts()
	if err != nil {
		return nil, err
	}
	all := map[string]settings.ProviderToken{}
	for provider, host := range hosts { // an empty token keeps the stored one
		all[provider] = settings.ProviderToken{}
		if host != nil {
			all[provider] = settings.ProviderToken{Host: *host}
		}
	}
	for provider, t := range tokens {
		if check != nil {
			user, err := check(ctx, provider, t)
			if err != nil {
				from := p.targets["token of "+provider]
				left = append(left, Left{from.File, from.Key, "it was not stored: " + strings.TrimSpace(err.Error())})
				continue
			}
			t.UserID = cmp.Or(user, t.UserID)
		}
		all[provider] = t
	}
	return left, s.SetProviderTokens(ctx, all)
}
