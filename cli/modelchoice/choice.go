package modelchoice

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/cli/profile"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// AgentClass is the class of the agent of deft run.
const AgentClass = "CodeActAgent"

// Choice decides which models a run has. It is part of a command line, for kong.
type Choice struct {
	Flags
	Service map[string]string `help:"Profile of another service than the agent, for example condenser=cheap. May be repeated." placeholder:"SERVICE=PROFILE"`
	Timeout time.Duration     `help:"How long the model may be silent, before its answer and in it, until the call counts as failed (default: 5m)." placeholder:"TIME"`

	services map[string]string // profiles of services other than the agent
}

// Choose decides which models a run has: the flags, the conversation's own, and
// the user's assignments, in this order.
func (c *Choice) Choose(m *Source, quiet bool) error {
	for service := range c.Service {
		if err := profiles.CheckService(service); err != nil {
			return err
		}
		if service == profiles.AgentService {
			return fault.New(fault.Invalid, "--service does not choose the agent's model").Hint("give --profile or --model")
		}
	}
	usual, err := m.Assigned()
	if err != nil {
		return err
	}
	c.takeUsual(m, usual, quiet)
	c.services = map[string]string{}
	maps.Copy(c.services, usual.Services)
	maps.Copy(c.services, c.Service)
	maps.DeleteFunc(c.services, func(service, profile string) bool { return service == profiles.AgentService || profile == "" })
	return c.checkProfile(m.env)
}

// Documents describes the chosen models, with their keys, so that any program can
// open the conversation. Mistakes are reported here, before anything is stored.
func (c *Choice) Documents(ctx context.Context, m *Source, maxCost float64) (out runcommand.Models, err error) {
	by, err := m.open()
	if err != nil {
		return out, err
	}
	var o session.ModelOptions
	if maxCost > 0 {
		o.Budget = broker.NewBudget(maxCost)
	}
	check := func(l *spec.LLM, err error) (*spec.LLM, error) {
		if err == nil {
			_, err = by.Open(l, o)
		}
		return l, err
	}
	if out.Agent, err = check(c.agentDocument(ctx, by, m)); err != nil {
		return out, err
	}
	setSilence(out.Agent, c.Timeout)
	for _, service := range slices.Sorted(maps.Keys(c.services)) {
		name := c.services[service]
		l, err := check(m.profile(ctx, name, agent.UsageCondenser))
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
func (c *Choice) agentDocument(ctx context.Context, by *build.Models, m *Source) (*spec.LLM, error) {
	if c.Profile == "" {
		l, err := c.document(by, m.env)
		if err == nil && c.APIKeyFile != "" {
			m.renewed[l.APIKey] = func() (llm.Secret, error) { return profile.KeyFromFile(c.APIKeyFile) }
		}
		return l, err
	}
	l, err := m.profile(ctx, c.Profile, agent.UsageAgent)
	if err == nil && c.Effort != "" {
		l.ReasoningEffort = &c.Effort
	}
	return l, err
}

// note is kept by `deft run` with a conversation: how its models were chosen.
// It has names, never a key.
type note struct {
	Flags
	// Services are the profiles of services other than the agent, where flags
	// named them.
	Services map[string]string `json:"services,omitempty"`
	// Chosen is the model that this has led to. If the agent has another by
	// now, somebody else has switched it, and the note no longer holds.
	Chosen string `json:"chosen,omitempty"`
}

// Note has the kept values of the flags, with the model that they have led to.
func (c *Choice) Note(m runcommand.Models) (json.RawMessage, error) {
	n := note{Flags: c.Flags, Services: c.Service}
	if m.Agent != nil {
		n.Chosen = m.Agent.Model
	}
	return json.Marshal(n)
}

// Of decides which models a stored conversation continues with: from the
// flags, from its note with the present keys, or its own. note is nil for its own.
func (c *Choice) Of(ctx context.Context, m *Source, conv *session.Conversation, maxCost float64, quiet bool) (runcommand.Models, json.RawMessage, error) {
	own := conv.Agent().LLM
	var old note
	kept := false
	if raw := conv.Note(); raw != nil && json.Unmarshal(raw, &old) == nil { // another program's note says nothing here
		kept = old.Chosen == own.Model
	}
	given := c.Profile != "" || c.chosen(m.env) || len(c.Service) > 0
	if !kept && !given && own.Model != session.NoModel {
		return c.ownModels(own), nil, nil
	}
	if kept {
		c.keep(old.Flags, m.env)
		c.Service = merged(old.Services, c.Service)
	}
	if err := c.Choose(m, quiet); err != nil {
		return runcommand.Models{}, nil, err
	}
	models, err := c.Documents(ctx, m, maxCost)
	if fault.Is(err, fault.Auth) && kept && !given && own.HasKey() && c.Model == old.Model {
		return c.ownModels(own), nil, nil // the stored key serves
	}
	if err != nil {
		return runcommand.Models{}, nil, err
	}
	n, err := c.Note(models)
	return models, n, err
}

// ownModels are the models that a conversation has, with another time limit if one
// is given.
func (c *Choice) ownModels(own *spec.LLM) runcommand.Models {
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
