package subagent

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
)

// Decode reads a definition that a client has sent, in the JSON of [Definition]. Of its MCP
// servers only the names are kept. Errors are of kind fault.Invalid.
func Decode(raw []byte) (Definition, error) {
	var v struct {
		plain
		Hooks   json.RawMessage            `json:"hooks"`
		Servers map[string]json.RawMessage `json:"mcp_config"`
		Former  map[string]json.RawMessage `json:"mcp_servers"`
	}
	v.Model = "inherit"
	if err := json.Unmarshal(raw, &v); err != nil {
		return Definition{}, fault.Wrap(err, fault.Invalid, "read the definition of an agent")
	}
	d := Definition(v.plain)
	var err error
	if len(v.Hooks) > 0 {
		if d.Hooks, err = hook.Parse(v.Hooks); err != nil {
			return Definition{}, err
		}
	}
	d.MCPConfig, d.MCPServers = nil, nil
	names := slices.Sorted(maps.Keys(v.Servers))
	names = append(names, slices.Sorted(maps.Keys(v.Former))...)
	if len(names) > 0 {
		kept := map[string]struct{}{}
		for _, name := range names {
			kept[name] = struct{}{}
		}
		if d.MCPConfig, err = json.Marshal(kept); err != nil {
			return Definition{}, err
		}
	}
	return d, nil
}

// plain is a Definition whose fields are shadowed where they are read in another way.
type plain Definition
