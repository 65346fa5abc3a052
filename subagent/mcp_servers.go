package subagent

import (
	"encoding/json"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// serverFields are the fields of an MCP server. Others, which other programs
// write, are ignored, as in the reference.
var serverFields = []string{
	"url", "transport", "command", "args", "env", "cwd", "description", "icon", "timeout", "sse_read_timeout", "keep_alive",
	"headers", "auth", "enabled",
}

// mcpServers reads the MCP servers of an agent, bare or below the key "mcpServers",
// and returns them as the API shows them: all fields, also those at their default,
// and secrets masked. Nil for none.
func mcpServers(fields map[string]any) (json.RawMessage, error) {
	given := fields["mcp_config"]
	if given == nil {
		given = fields["mcp_servers"]
	}
	if given == nil {
		return nil, nil
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, err
	}
	servers, ok := v.(*schema.Map)
	if inner, wrapped := servers.Lookup("mcpServers"); wrapped {
		servers, ok = inner.(*schema.Map)
		ok = ok || inner == nil
	}
	if !ok {
		return nil, fault.New(fault.Invalid, "it must be a mapping of servers")
	}
	known := schema.NewMap()
	for _, name := range servers.Keys() {
		known.Set(name, knownFields(servers.Get(name)))
	}
	checked, err := schema.Check(spec.MCPServers, known, schema.Reading{}, "mcp_config")
	if err != nil {
		return nil, err
	}
	shown, err := schema.Dump(spec.MCPServers, checked, schema.Writing{Mode: schema.Masked})
	if err != nil {
		return nil, err
	}
	return schema.Encode(shown)
}

// knownFields drops the unknown fields of a server; "type" is read as transport.
func knownFields(server any) any {
	m, ok := server.(*schema.Map)
	if !ok {
		return server
	}
	out := schema.NewMap()
	for _, key := range m.Keys() {
		if slices.Contains(serverFields, key) {
			out.Set(key, m.Get(key))
		}
	}
	if t, ok := m.Lookup("type"); ok && out.Get("transport") == nil {
		out.Set("transport", t)
	}
	if out.Text("transport") == "shttp" {
		out.Set("transport", "http")
	}
	return out
}
