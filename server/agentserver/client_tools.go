package agentserver

import (
	"encoding/json"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/mcp"
)

// UsableTool reports whether agents of this server can have a tool.
func UsableTool(name string) bool {
	return slices.Contains(mcp.UsableNames(mcp.Catalogue()), name)
}

// clientToolCheck returns a function that describes the mistake in a client's tool.
func clientToolCheck(a Adapters) func(raw json.RawMessage) error {
	return func(raw json.RawMessage) error {
		name, err := a.CheckClientTool(raw)
		if err != nil {
			return err
		}
		if UsableTool(name) {
			return fault.New(fault.Invalid,
				"Client tool name '"+name+"' collides with an existing non-client tool. Choose a unique client tool name.")
		}
		return nil
	}
}
