package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/profiles"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/registry"
	"github.com/deft-dev/deft/llm/route"
)

// agentClass is the class of the agent of deft run.
const agentClass = "CodeActAgent"

// choose decides which models a run has: the flags, what the conversation had,
// and what the user has assigned, in this order.
func (c *runCmd) choose(std *streams) error {
	for service := range c.Service {
		if err := registry.CheckService(service); err != nil {
			return err
		}
		if service == registry.Agent {
			return fault.New(fault.Invalid, "--service does not choose the agent's model").Hint("give --profile or --model")
		}
	}
	usual, err := assigned(std)
	if err != nil {
		return err
	}
	if c.Profile == "" && c.Model == "" {
		c.Profile = usual.Agent(agentClass)
	}
	c.services = map[string]string{}
	maps.Copy(c.services, usual.Services)
	maps.Copy(c.services, c.Service)
	maps.DeleteFunc(c.services, func(service, profile string) bool { return service == registry.Agent || profile == "" })
	return c.checkProfile(std)
}

// open makes the models of a run and returns what the agent's is called.
// Profiles are looked at only where one is used.
func (c *runCmd) open(ctx context.Context, std *streams, budget *broker.Budget, h hooks) (r *registry.Registry, model string, err error) {
	by, err := c.opener(std)
	if err != nil {
		return nil, "", err
	}
	o := broker.Options{OnRetry: h.retry, Budget: budget}
	breakers := broker.NewBreakers(broker.BreakerOptions{Failures: failures})
	if c.Profile == "" && len(c.services) == 0 {
		r = registry.New(nil)
		return r, c.Model, c.addFlags(r, by, o, breakers)
	}
	stores, err := openProfiles(std)
	if err != nil {
		return nil, "", err
	}
	build := by.builder(stores, o, breakers, h.switched)
	r, model = registry.New(func(profile string) (llm.Model, error) {
		if _, err := getProfile(ctx, stores, profile); err != nil {
			return nil, err
		}
		return build.Build(ctx, profile)
	}), c.Model
	if c.Profile == "" {
		err = c.addFlags(r, by, o, breakers)
	} else if err = r.Use(registry.Agent, c.Profile); err == nil {
		var p profiles.Profile
		if p, err = stores.LLMs.Profile(ctx, c.Profile); err == nil {
			model = p.LLM.Model
		}
	}
	if err != nil {
		return nil, "", err
	}
	for _, service := range slices.Sorted(maps.Keys(c.services)) {
		if err := r.Use(service, c.services[service]); err != nil {
			return nil, "", fmt.Errorf("the model of the service %s: %w", service, err)
		}
	}
	return r, model, nil
}

// addFlags gives the agent the model of the flags.
func (c *runCmd) addFlags(r *registry.Registry, by *opener, o broker.Options, breakers *broker.Breakers) error {
	m, err := c.modelFlags.open(by, o, breakers)
	if err != nil {
		return err
	}
	return r.Add(registry.Agent, m)
}

// builder makes the models of profiles. A key in LLM_API_KEY is not theirs: it
// would be shown to a provider that it does not belong to.
func (o *opener) builder(s *profiles.Stores, b broker.Options, breakers *broker.Breakers, onSwitch func(broker.Switched)) *profiles.Builder {
	b.Catalog = o.known
	return &profiles.Builder{
		Profiles: s.LLMs, Open: o.router().New, Catalog: o.known, KeyVariables: route.KeyVariables, Broker: b, Breakers: breakers, OnSwitch: onSwitch,
		Complete: func(cfg *llm.Config) {
			o.complete(cfg, "")
			cfg.HTTPClient = o.client(*cfg)
		},
	}
}
