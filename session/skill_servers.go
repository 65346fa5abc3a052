package session

import (
	"fmt"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// withSkillServers returns an agent with the MCP servers that skills bring which are always
// there, as OpenHands' V0 has it (mcp_tools of a microagent). Servers that the agent has come
// first. A project's run only if the agent has them already: somebody has allowed them.
func (w *worker) withSkillServers(a *spec.Agent) (*spec.Agent, error) {
	w.c.mu.Lock()
	asked := w.c.rec.Asked.Servers // who asked the user has told him as well
	w.c.mu.Unlock()
	var all *schema.Map
	for _, s := range w.skills {
		if !s.Always() || len(s.MCPTools) == 0 {
			continue
		}
		servers, err := spec.ReadMCPTools(s.MCPTools)
		if err != nil {
			w.leftOut = append(w.leftOut, fmt.Sprintf("the MCP servers of the skill %s: %v", s.Name, schema.Located(err)))
		}
		for _, name := range servers.Keys() {
			if a.MCPServers.Get(name) != nil {
				continue
			}
			switch {
			case w.foreign[s.Name] && asked:
				continue
			case w.foreign[s.Name]:
				w.leftOut = append(w.leftOut, fmt.Sprintf("the MCP server %s of the skill %s does not run, because nobody has allowed it", name, s.Name))
				continue
			}
			if all == nil {
				all = schema.NewMap()
				if a.MCPServers != nil {
					all = a.MCPServers.Copy()
				}
			}
			if all.Get(name) == nil {
				all.Set(name, servers.Get(name))
			}
		}
	}
	if all == nil {
		return a, nil
	}
	return a.With("mcp_config", all)
}
