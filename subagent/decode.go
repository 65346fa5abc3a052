package subagent

import (
	"encoding/json"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
)

// Decode reads a definition that a client has sent, in the JSON of [Definition]. Errors are of
// kind fault.Invalid.
func Decode(raw []byte) (Definition, error) {
	var v struct {
		plain
		Hooks   json.RawMessage `json:"hooks"`
		Servers json.RawMessage `json:"mcp_config"`
		Former  json.RawMessage `json:"mcp_servers"`
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
	for _, servers := range []json.RawMessage{v.Servers, v.Former} {
		if len(servers) == 0 || string(servers) == "null" {
			continue
		}
		if err := d.readServers(servers); err != nil {
			return Definition{}, fault.Wrap(err, fault.Invalid, "mcp_config")
		}
		break
	}
	if len(d.Condenser) > 0 {
		err = d.checkCondenser()
	}
	return d, err
}

// plain is a Definition whose fields are shadowed where they are read in another way.
type plain Definition
