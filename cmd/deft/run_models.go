package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/cli/profile"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// agentClass is the class of the agent of deft run.
const agentClass = "CodeActAgent"

// runModels implements [session.Models] with the user's own catalogue, profiles
// and environment.
type runModels struct {
	by       func() (*opener, error)
	breakers *broker.Breakers
	log      *slog.Logger
	// renewed read again the keys that came from files: the issuer of a token
	// replaces its file.
	renewed map[llm.Secret]func() (llm.Secret, error)
}

// Open implements [session.Models].
func (m *runModels) Open(l *spec.LLM, o session.ModelOptions) (llm.Model, error) {
	if unused := l.Unused(); len(unused) > 0 {
		m.log.Warn("settings of the LLM have no effect here", "model", l.Model, "settings", unused)
	}
	by, err := m.by()
	if err != nil {
		return nil, err
	}
	var saved *profiles.LLMs
	if len(l.Profiles()) > 0 {
		stores, err := openProfiles(by.std)
		if err != nil {
			return nil, err
		}
		saved = stores.LLMs
	}
	h := recording(l, o)
	b := by.builder(saved, broker.Options{Budget: o.Budget, OnRetry: h.retry}, m.breakers, h.switched)
	return b.Model(context.Background(), l, m.renewed[l.APIKey]) // which reads files and makes no request
}

// choose decides which models a run has: the flags, the conversation's own, and
// the user's assignments, in this order.
func (c *runCmd) choose(std *streams) error {
	for service := range c.Service {
		if err := profiles.CheckService(service); err != nil {
			return err
		}
		if service == profiles.AgentService {
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
	if c.Profile == "" && c.Model == "" && c.BaseURL == "" {
		if model, variable := route.Usual(std.Env); model != "" {
			c.Model = model
			if !c.Quiet {
				fmt.Fprintf(std.Err, "the model is %s, since %s is set; --model names another one\n", model, variable)
			}
		}
	}
	c.services = map[string]string{}
	maps.Copy(c.services, usual.Services)
	maps.Copy(c.services, c.Service)
	maps.DeleteFunc(c.services, func(service, profile string) bool { return service == profiles.AgentService || profile == "" })
	return c.checkProfile(std)
}

// documents describes the chosen models, with their keys, so that any program can
// open the conversation. Mistakes are reported here, before anything is stored.
func (c *runCmd) documents(ctx context.Context, m *runModels) (out runcommand.Models, err error) {
	by, err := m.by()
	if err != nil {
		return out, err
	}
	var o session.ModelOptions
	if c.MaxCost > 0 {
		o.Budget = broker.NewBudget(c.MaxCost)
	}
	check := func(l *spec.LLM, err error) (*spec.LLM, error) {
		if err == nil {
			_, err = m.Open(l, o)
		}
		return l, err
	}
	if out.Agent, err = check(c.agentDocument(ctx, by, m)); err != nil {
		return out, err
	}
	setSilence(out.Agent, c.Timeout)
	for _, service := range slices.Sorted(maps.Keys(c.services)) {
		name := c.services[service]
		l, err := check(m.profile(ctx, by.std, name, agent.UsageCondenser))
		if err != nil {
			return out, fmt.Errorf("the model of the service %s: profile %s: %w", service, name, err)
		}
		if service == profiles.CondenserService {
			setSilence(l, c.Timeout)
			out.Condenser = l
		}
	}
	return out, nil
}

// setSilence sets how long a model may be silent; 0 leaves its present value.
func setSilence(l *spec.LLM, limit time.Duration) {
	if limit == 0 {
		return
	}
	seconds := limit.Seconds()
	l.StreamIdleTimeout = &seconds
	x := l.Extras()
	x.FirstTokenTimeout, x.Timeout = seconds, max(seconds, x.Timeout)
}

// agentDocument describes the agent's model.
func (c *runCmd) agentDocument(ctx context.Context, by *opener, m *runModels) (*spec.LLM, error) {
	if c.Profile == "" {
		l, err := c.document(by)
		if err == nil && c.APIKeyFile != "" {
			m.renewed[l.APIKey] = func() (llm.Secret, error) { return profile.KeyFromFile(c.APIKeyFile) }
		}
		return l, err
	}
	l, err := m.profile(ctx, by.std, c.Profile, agent.UsageAgent)
	if err == nil && c.Effort != "" {
		l.ReasoningEffort = &c.Effort
	}
	return l, err
}

// profile describes the model of a profile, with the names of the profiles that
// it uses.
func (m *runModels) profile(ctx context.Context, std *streams, name, usage string) (*spec.LLM, error) {
	stores, err := openProfiles(std)
	if err != nil {
		return nil, err
	}
	p, err := profile.Get(ctx, stores, name)
	if err != nil {
		return nil, err
	}
	usual := route.KeyVariables(p.LLM.Model)
	l, err := stores.LLMs.LoadWithKey(ctx, name, usual)
	if err != nil {
		return nil, err
	}
	if p.KeyFile != "" {
		m.renewed[l.APIKey] = func() (llm.Secret, error) {
			l, err := stores.LLMs.LoadWithKey(context.Background(), name, usual)
			if err != nil {
				return "", err
			}
			return l.APIKey, nil
		}
	}
	l = l.Clone(usage)
	l.Stream = true
	return l, nil
}

// runNote is kept by `deft run` with a conversation: how its models were chosen.
// It has names, never a key.
type runNote struct {
	modelFlags
	// Services are the profiles of services other than the agent, where flags
	// named them.
	Services map[string]string `json:"services,omitempty"`
	// Chosen is the model that this has led to. If the agent has another by
	// now, somebody else has switched it, and the note no longer holds.
	Chosen string `json:"chosen,omitempty"`
}

func (n runNote) encode() (json.RawMessage, error) { return json.Marshal(n) }

// note has the kept values of the flags.
func (c *runCmd) note(m runcommand.Models) runNote {
	n := runNote{modelFlags: c.modelFlags, Services: c.Service}
	if m.Agent != nil {
		n.Chosen = m.Agent.Model
	}
	return n
}

// modelsOf decides which models a stored conversation continues with: from the
// flags, from its note with the present keys, or its own. note is nil for its own.
func (c *runCmd) modelsOf(ctx context.Context, std *streams, m *runModels, conv *session.Conversation) (runcommand.Models, *runNote, error) {
	own := conv.Agent().LLM
	var old runNote
	kept := false
	if raw := conv.Note(); raw != nil && json.Unmarshal(raw, &old) == nil { // another program's note says nothing here
		kept = old.Chosen == own.Model
	}
	given := c.Profile != "" || c.chosen(std) || len(c.Service) > 0
	if !kept && !given && own.Model != session.NoModel {
		return c.ownModels(own), nil, nil
	}
	if kept {
		c.keep(old.modelFlags, std)
		c.Service = merged(old.Services, c.Service)
	}
	if err := c.choose(std); err != nil {
		return runcommand.Models{}, nil, err
	}
	models, err := c.documents(ctx, m)
	if fault.Is(err, fault.Auth) && kept && !given && own.HasKey() && c.Model == old.Model {
		return c.ownModels(own), nil, nil // the stored key serves
	}
	if err != nil {
		return runcommand.Models{}, nil, err
	}
	n := c.note(models)
	return models, &n, nil
}

// ownModels are the models that a conversation has, with another time limit if one
// is given.
func (c *runCmd) ownModels(own *spec.LLM) runcommand.Models {
	if c.Timeout == 0 {
		return runcommand.Models{}
	}
	l := own.Clone(own.UsageID)
	extras := *l.Extras() // Clone is shallow
	l.Deft = &extras
	setSilence(l, c.Timeout)
	return runcommand.Models{Agent: l}
}

// merged are the entries of both, with over's first.
func merged(base, over map[string]string) map[string]string {
	if len(base) == 0 {
		return over
	}
	out := maps.Clone(base)
	maps.Copy(out, over)
	return out
}
