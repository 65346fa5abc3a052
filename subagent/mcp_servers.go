package subagent

import (
	"encoding/json"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// takeServers reads the MCP servers of an agent's file.
func (d *Definition) takeServers(fields map[string]any) error {
	given := fields["mcp_config"]
	if given == nil {
		given = fields["mcp_servers"]
	}
	if given == nil {
		return nil
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return err
	}
	if err := d.readServers(raw); err != nil {
		return err
	}
	d.MCPServers = d.MCPConfig
	return nil
}

// readServers reads MCP servers. The API shows all their fields, also those at their default, and
// secrets masked.
func (d *Definition) readServers(raw []byte) error {
	servers, err := spec.ReadMCPServers(raw)
	if err != nil {
		return err
	}
	shown, err := schema.Dump(spec.MCPServers, servers, schema.Writing{Mode: schema.Masked})
	if err != nil {
		return err
	}
	if d.MCPConfig, err = schema.Encode(shown); err != nil {
		return err
	}
	if d.Servers = servers; servers.Len() == 0 {
		d.Servers = nil
	}
	return nil
}
