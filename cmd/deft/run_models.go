package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/runcommand"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/registry"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
)

// note is what is kept of the flags.
func (c *runCmd) note(m runcommand.Models) runNote {
	n := runNote{modelSetup: c.modelFlags.setup(), Services: c.Service}
	if m.Agent != nil {
		n.Chosen = m.Agent.Model
	}
	return n
}

// runModels implements [session.Models]: the models that the flags, profiles and
// the environment choose, with their fallbacks, and for other LLMs those of
// their documents.
type runModels struct {
	stored session.Models
	// open opens what was chosen; nil if a conversation keeps its own.
	open   func(o broker.Options, h hooks) (*registry.Registry, error)
	effort string // of the agent, unless empty

	mu     sync.Mutex
	opened *registry.Registry
}

// Open implements [session.Models].
func (m *runModels) Open(l *spec.LLM, o session.ModelOptions) (llm.Model, error) {
	service := map[string]string{agent.UsageAgent: registry.Agent, agent.UsageCondenser: registry.Condenser}[l.UsageID]
	if m.open == nil || service == "" {
		model, err := m.stored.Open(l, o)
		if err == nil && o.Budget != nil && !model.Info().Price.Known {
			return nil, fault.New(fault.Invalid, "--max-cost cannot be kept: the price of "+l.Model+" is not known").
				Hint("give the model with --input-price and --output-price, or leave --max-cost out")
		}
		return model, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opened == nil {
		var err error
		if m.opened, err = m.open(broker.Options{Budget: o.Budget}, recording(o)); err != nil {
			return nil, err
		}
	}
	model := m.opened.Model(service)
	if service == registry.Agent && m.effort != "" {
		return effortModel{model, m.effort}, nil
	}
	return model, nil
}

// effortModel is a model that thinks as long as the user has chosen.
type effortModel struct {
	llm.Model
	effort string
}

// Generate implements [llm.Model].
func (m effortModel) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	r.ReasoningEffort = first(r.ReasoningEffort, m.effort)
	return m.Model.Generate(ctx, r, onDelta)
}

// useModels has the run use the models that were chosen, and returns their
// documents, with the keys.
func (c *runCmd) useModels(ctx context.Context, r *foreground) (out runcommand.Models, err error) {
	open := func(o broker.Options, h hooks) (*registry.Registry, error) {
		reg, _, err := c.open(ctx, r.std, o.Budget, h)
		return reg, err
	}
	var budget *broker.Budget
	if c.MaxCost > 0 {
		budget = broker.NewBudget(c.MaxCost)
	}
	// What is wrong is said before anything is stored.
	if _, err := open(broker.Options{Budget: budget}, hooks{}); err != nil {
		return out, err
	}
	if out.Agent, err = c.document(ctx, r.std); err != nil {
		return out, err
	}
	if name := c.services[registry.Condenser]; name != "" {
		if out.Condenser, err = profileDocument(ctx, r.std, name, agent.UsageCondenser); err != nil {
			return out, err
		}
	}
	r.models.open, r.models.effort = open, c.Effort
	return out, nil
}

// document describes the agent's model, so that any program can open the
// conversation.
func (c *runCmd) document(ctx context.Context, std *streams) (*spec.LLM, error) {
	if c.Profile != "" {
		l, err := profileDocument(ctx, std, c.Profile, agent.UsageAgent)
		if err == nil && c.Effort != "" {
			l.ReasoningEffort = &c.Effort
		}
		return l, err
	}
	by, err := c.opener(std)
	if err != nil {
		return nil, err
	}
	cfg, err := c.config(by)
	if err != nil {
		return nil, err
	}
	l := spec.NewLLM(c.Model)
	if l.APIKey, err = c.key(std); err != nil {
		return nil, err
	}
	l.UsageID, l.Stream, l.APIMode = agent.UsageAgent, true, first(c.API, llm.APIAuto)
	l.BaseURL, l.APIVersion, l.ReasoningEffort = optional(cfg.BaseURL), optional(cfg.APIVersion), optional(c.Effort)
	if err := setRetention(l, c.CacheRetention); err != nil {
		return nil, err
	}
	x := l.Extras()
	x.ContextLimit, x.KeepAlive = c.ContextLimit, c.KeepAlive.Seconds()
	if c.InputPrice != nil && c.OutputPrice != nil { // of a million tokens
		in, out := *c.InputPrice/1e6, *c.OutputPrice/1e6
		l.InputCostPerToken, l.OutputCostPerToken = &in, &out
	}
	return l, nil
}

// opener is the same one each time: it may have something to tell the user.
func (c *runCmd) opener(std *streams) (*opener, error) {
	if c.by != nil {
		return c.by, nil
	}
	by, err := newOpener(std)
	c.by = by
	return by, err
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// profileDocument describes the model of a profile, with the names of the
// profiles that it uses.
func profileDocument(ctx context.Context, std *streams, name, usage string) (*spec.LLM, error) {
	stores, err := openProfiles(std)
	if err != nil {
		return nil, err
	}
	l, err := stores.LLMs.Load(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	if !l.HasKey() {
		l.APIKey = llm.Secret(firstSet(std, route.KeyVariables(l.Model)))
	}
	l = l.Clone(usage)
	l.Stream = true
	return l, nil
}

// modelsOf decides which models a stored conversation goes on with: those of the
// flags, those of its note with the present keys, or its own. note is nil for
// its own.
func (c *runCmd) modelsOf(ctx context.Context, r *foreground, conv *session.Conversation) (runcommand.Models, *runNote, error) {
	if c.Replay != "" && r.task == "" {
		return runcommand.Models{}, nil, nil
	}
	own := conv.Agent().LLM
	var old runNote
	kept := false
	if raw := conv.Note(); raw != nil && json.Unmarshal(raw, &old) == nil { // another program's note says nothing here
		kept = old.Chosen == own.Model
	}
	given := c.Profile != "" || c.chosen(r.std) || len(c.Service) > 0
	if !kept && !given && own.Model != session.NoModel {
		return runcommand.Models{}, nil, nil
	}
	if kept {
		c.keep(old, r.std)
		c.Service = merged(old.Services, c.Service)
	}
	if err := c.choose(r.std); err != nil {
		return runcommand.Models{}, nil, err
	}
	models, err := c.useModels(ctx, r)
	if fault.Is(err, fault.Auth) && kept && !given && own.HasKey() && c.Model == old.Model {
		return runcommand.Models{}, nil, nil // the stored key serves
	}
	if err != nil {
		return runcommand.Models{}, nil, err
	}
	n := c.note(models)
	return models, &n, nil
}

// merged are the entries of both, those of over first.
func merged(base, over map[string]string) map[string]string {
	if len(base) == 0 {
		return over
	}
	out := maps.Clone(base)
	maps.Copy(out, over)
	return out
}
