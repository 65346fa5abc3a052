package runcommand

import (
	"fmt"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
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

// NewAgent returns the agent of a new conversation. servers are its MCP servers;
// nil for none.
func NewAgent(m Models, servers *schema.Map) (*spec.Agent, error) {
	own, err := m.llm().Doc()
	if err != nil {
		return nil, fmt.Errorf("describe the LLM: %w", err)
	}
	summaries, err := m.condenser().Doc()
	if err != nil {
		return nil, fmt.Errorf("describe the LLM of the condenser: %w", err)
	}
	var list []any
	for _, name := range tool.InSet(tool.Terminal) { // finish and think follow by default
		list = append(list, schema.Of("name", name))
	}
	doc := schema.Of(
		"kind", "Agent", "llm", own, "tools", list,
		"condenser", schema.Of("kind", "LLMSummarizingCondenser", "llm", summaries),
		"agent_context", schema.Of("load_project_skills", true, "load_user_skills", true),
	)
	if servers.Len() > 0 {
		doc.Set("mcp_config", servers)
	}
	return spec.CheckAgent(doc, schema.Reading{}, "agent")
}

// UpdateAgent returns the agent of a conversation that continues, with other
// models and with more MCP servers, which replace servers of the same name. A
// condenser with an LLM of its own keeps that unless summaries says otherwise.
func UpdateAgent(a *spec.Agent, m Models, summaries bool, servers *schema.Map) (*spec.Agent, error) {
	var err error
	if m.Agent != nil {
		if a, err = a.WithLLM(m.Agent); err != nil {
			return nil, err
		}
	}
	if c := a.Doc().Object("condenser"); m.Agent != nil && summaries && c.Text("kind") == "LLMSummarizingCondenser" {
		own, err := m.condenser().Doc()
		if err != nil {
			return nil, err
		}
		c = c.Copy()
		c.Set("llm", own)
		if a, err = a.With("condenser", c); err != nil {
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
