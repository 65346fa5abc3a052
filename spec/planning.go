package spec

import (
	"path/filepath"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/tool"
)

// PlanningPrompt is the name of the system prompt of agents that plan, and the mark of such an agent.
const PlanningPrompt = "system_prompt_planning.j2"

// The condenser of an agent that plans keeps more (docs/openhands/tools.md section 4).
const planningSize, planningFirst = 100, 6

// Plans reports whether the agent plans and changes nothing but its plan: it gets no tools beside
// its own.
func (a *Agent) Plans() bool { return a.SystemPromptFilename == PlanningPrompt }

// Planning returns an agent that plans in place of a: with the tools of the preset, and neither MCP
// servers nor other tools of a.
func (a *Agent) Planning() (*Agent, error) {
	tools := []any{}
	for _, name := range tool.InSet(tool.Planning) {
		tools = append(tools, NewTool(name))
	}
	doc := a.doc.Copy()
	doc.Set("tools", tools)
	doc.Set("include_default_tools", []any{"FinishTool", "ThinkTool"})
	doc.Set("mcp_config", s.NewMap())
	doc.Set("system_prompt", nil)
	doc.Set("system_prompt_filename", PlanningPrompt)
	if c := doc.Object("condenser"); c.Text("kind") == "LLMSummarizingCondenser" {
		c = c.Copy()
		c.Set("max_size", planningSize)
		c.Set("keep_first", planningFirst)
		doc.Set("condenser", c)
	}
	return AgentFrom(doc)
}

// Acting returns the agent with these tools, and with the usual prompt if it planned.
func (a *Agent) Acting(tools []any) (*Agent, error) {
	doc := a.doc.Copy()
	doc.Set("tools", tools)
	if a.Plans() {
		doc.Set("system_prompt_filename", defaultPrompt)
	}
	return AgentFrom(doc)
}

// CheckPlanPath refuses another plan than the one in the workspace, which the planning editor writes.
func CheckPlanPath(t Tool, workspace string) error {
	path := t.Params.Text("plan_path")
	if t.Name != tool.PlanEditor || path == "" || path == filepath.Join(workspace, tool.PlanFile) {
		return nil
	}
	return fault.New(fault.Invalid, "plan_path must be "+filepath.Join(workspace, tool.PlanFile)+", not "+path)
}
