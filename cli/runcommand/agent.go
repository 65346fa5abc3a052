package runcommand

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
)

// Models are the LLMs that a run names for an agent. Agent is nil for a replay
// without a model. Condenser is nil where the agent's LLM writes summaries.
type Models struct{ Agent, Condenser *spec.LLM }

// llm returns the agent's LLM.
func (m Models) llm() *spec.LLM {
	if m.Agent == nil {
		return spec.NewLLM(session.NoModel)
	}
	return m.Agent
}

// condenser returns the LLM that writes summaries.
func (m Models) condenser() *spec.LLM {
	if m.Condenser != nil {
		return m.Condenser
	}
	return m.llm().Clone(agent.UsageCondenser)
}

// presetTools are the tools of a preset, "" for the default one; finish and think follow by
// themselves. Invalid for a name that no preset has.
func presetTools(preset string) ([]any, error) {
	set, ok := tool.Preset(preset, tool.Terminal)
	if !ok {
		return nil, fault.New(fault.Invalid, "there is no preset "+preset)
	}
	var list []any
	for _, name := range tool.InSet(set) {
		list = append(list, schema.Of("name", name))
	}
	return list, nil
}

// withTools adds tools to an agent. Invalid for a name that no tool has, or for an agent that plans.
func withTools(a *spec.Agent, names []string) (*spec.Agent, error) {
	if len(names) == 0 {
		return a, nil
	}
	if a.Plans() {
		return nil, fault.New(fault.Invalid, "an agent that plans has no other tools").Hint("leave --tool or --preset planning out")
	}
	list, _ := a.Doc().Get("tools").([]any)
	list = slices.Clone(list)
	var known []string
	for _, r := range tool.Registered() {
		if r.Description != "" {
			known = append(known, r.Name)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fault.New(fault.Invalid, "there is no tool "+name).Hint("there are " + strings.Join(known, ", "))
		}
		if !slices.ContainsFunc(a.Tools, func(had spec.Tool) bool { return had.Name == name }) {
			list = append(list, schema.Of("name", name))
		}
	}
	return a.With("tools", list)
}

// NewAgent returns the agent of a new conversation, with the tools of a preset, and more.
// own are the user's settings of agents, of which it has the condenser, the critic and the memory files; nil for the defaults.
// servers are its MCP servers; nil for none.
func NewAgent(m Models, own, servers *schema.Map, preset string, more ...string) (*spec.Agent, error) {
	if own == nil {
		own = schema.NewMap()
	}
	model, err := m.llm().Doc()
	if err != nil {
		return nil, fmt.Errorf("describe the LLM: %w", err)
	}
	summaries, err := m.condenser().Doc()
	if err != nil {
		return nil, fmt.Errorf("describe the LLM of the condenser: %w", err)
	}
	list, err := presetTools(preset)
	if err != nil {
		return nil, err
	}
	doc := schema.Of(
		"kind", "Agent", "llm", model, "tools", list,
		"condenser", agentsettings.Condenser(own.Object("condenser"), summaries),
		"critic", agentsettings.Critic(own.Object("verification"), model),
		"agent_context", schema.Of("load_project_skills", true, "load_user_skills", true, "load_memory", own.Object("agent_context").Get("load_memory") == true),
	)
	if servers.Len() > 0 {
		doc.Set("mcp_config", servers)
	}
	a, err := spec.CheckAgent(doc, schema.Reading{}, "agent")
	if err == nil && preset == tool.PlanningPreset {
		a, err = a.Planning()
	}
	if err != nil {
		return nil, err
	}
	return withTools(a, more)
}

// UpdateAgent returns the agent of a conversation that continues, with other
// models and with more MCP servers, which replace servers of the same name. A
// condenser with an LLM of its own keeps that unless summaries says otherwise. The tools
// stay unless a preset is named, and more are added.
func UpdateAgent(a *spec.Agent, m Models, summaries bool, servers *schema.Map, preset string, more ...string) (*spec.Agent, error) {
	var err error
	if preset == tool.PlanningPreset {
		if a, err = a.Planning(); err != nil {
			return nil, err
		}
	} else if preset != "" {
		list, err := presetTools(preset)
		if err != nil {
			return nil, err
		}
		if a, err = a.Acting(list); err != nil {
			return nil, err
		}
	}
	if a, err = withTools(a, more); err != nil {
		return nil, err
	}
	if m.Agent != nil {
		if a, err = a.WithLLM(m.Agent); err != nil {
			return nil, err
		}
	}
	if c := a.Doc().Object("condenser"); m.Agent != nil && summaries && c != nil {
		own, err := m.condenser().Doc()
		if err != nil {
			return nil, err
		}
		if a, err = a.With("condenser", spec.CondenserWith(c, own)); err != nil {
			return nil, err
		}
	}
	if servers.Len() == 0 {
		return a, nil
	}
	all := schema.NewMap()
	if had := a.Doc().Object("mcp_config"); had != nil {
		all = had.Copy()
	}
	for _, name := range servers.Keys() {
		all.Set(name, servers.Get(name))
	}
	return a.With("mcp_config", all)
}

// WithoutServers returns an agent without the MCP servers of some names.
func WithoutServers(a *spec.Agent, names []string) (*spec.Agent, error) {
	had := a.Doc().Object("mcp_config")
	if had == nil || len(names) == 0 {
		return a, nil
	}
	rest := had.Copy()
	for _, name := range names {
		rest.Delete(name)
	}
	return a.With("mcp_config", rest)
}

// CondenserOf returns the user's settings of agents with another kind of condenser, "" for theirs.
// Invalid for a kind that there is not.
func CondenserOf(own *schema.Map, kind string) (*schema.Map, error) {
	if kind == "" {
		return own, nil
	}
	if agentsettings.CondenserSettings.Of[kind] == nil {
		return nil, fault.New(fault.Invalid, "there is no condenser "+kind).Hint("there are " + strings.Join(agentsettings.CondenserSettings.Order, ", "))
	}
	had := schema.NewMap()
	if own != nil {
		own, had = own.Copy(), own.Object("condenser").Copy()
	} else {
		own = schema.NewMap()
	}
	if had.Text("condenser_kind") != kind {
		had = schema.Of("condenser_kind", kind)
	}
	had.Set("enabled", true)
	c, err := schema.Check(agentsettings.CondenserSettings, had, schema.Reading{}, "condenser")
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the condenser "+kind+" has to be in your settings")
	}
	own.Set("condenser", c)
	return own, nil
}
