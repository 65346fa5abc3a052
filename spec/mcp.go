package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
)

// MCPSchema describes one MCP server.
var MCPSchema = Reference("MCPServer", s.Object{Compact: true, After: checkServer}, MCPNetwork, s.Field{Name: "url", Type: s.Opt(s.Address{})})

// MCPNetwork is a field of Deft's own: hosts that one server over stdio may reach
// beside the hosts of its conversation's commands.
var MCPNetwork = s.Field{Name: "network", Type: s.Opt(s.List{Of: s.String{}})}

// MCPServers is a map of MCP servers by their names.
var MCPServers = s.Dict{Of: MCPSchema}

func checkServer(m *s.Map) error {
	switch m.Text("transport") {
	case "stdio":
		if m.Get("command") == nil {
			return errors.New("stdio MCP servers require 'command'")
		}
	case "http", "streamable-http", "sse":
		if m.Get("url") == nil {
			return errors.New("remote MCP servers require 'url'")
		}
	}
	if m.Get("auth") != nil {
		for _, k := range m.Object("headers").Keys() {
			if strings.EqualFold(k, "authorization") {
				return fault.New(fault.Invalid, "'auth' cannot be combined with an explicit top-level 'Authorization' header; use auth.strategy='header' instead.")
			}
		}
	}
	return nil
}

// fileFields are the fields of an MCP server in a file. Others, which other programs
// write, are ignored, as in the reference.
var fileFields = []string{
	"url", "transport", "command", "args", "env", "cwd", "description", "icon", "timeout", "sse_read_timeout", "keep_alive",
	"headers", "auth", "enabled",
}

// ReadMCPServers reads MCP servers as files have them: bare or below the key "mcpServers",
// with fields of other programs. Errors are schema.Violations or of kind fault.Invalid.
func ReadMCPServers(raw []byte) (*s.Map, error) {
	v, err := s.Parse(raw)
	if err != nil {
		return nil, err
	}
	servers, ok := v.(*s.Map)
	if inner, wrapped := servers.Lookup("mcpServers"); wrapped {
		servers, ok = inner.(*s.Map)
		ok = ok || inner == nil
	}
	if !ok {
		return nil, fault.New(fault.Invalid, "it must be a mapping of servers")
	}
	known := s.NewMap()
	for _, name := range servers.Keys() {
		known.Set(name, knownFields(servers.Get(name)))
	}
	checked, err := s.Check(MCPServers, known, s.Reading{}, "mcp_config")
	if err != nil {
		return nil, err
	}
	out, _ := checked.(*s.Map)
	return out, nil
}

// knownFields drops the unknown fields of a server; "type" is read as transport.
func knownFields(server any) any {
	m, ok := server.(*s.Map)
	if !ok {
		return server
	}
	out := s.NewMap()
	for _, key := range m.Keys() {
		if slices.Contains(fileFields, key) {
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

// v0Servers are the lists of servers that OpenHands' V0 has.
var v0Servers = []string{"stdio_servers", "sse_servers", "shttp_servers"}

// ReadMCPTools reads the MCP servers of a microagent (its mcp_tools): as [ReadMCPServers]
// does, or in the form of OpenHands' V0, a list below "stdio_servers". V0 takes no others from
// a microagent.
func ReadMCPTools(raw []byte) (*s.Map, error) {
	v, err := s.Parse(raw)
	if err != nil {
		return nil, err
	}
	m, _ := v.(*s.Map)
	v0 := func(key string) bool { return slices.Contains(v0Servers, key) }
	if !slices.ContainsFunc(m.Keys(), v0) {
		return ReadMCPServers(raw)
	}
	list := m.Get("stdio_servers")
	all := s.NewMap()
	servers, _ := list.([]any)
	for i, one := range servers {
		server, _ := one.(*s.Map)
		name := server.Text("name")
		if name == "" {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("stdio_servers: entry %d has no name", i+1))
		}
		all.Set(name, server)
	}
	for _, key := range m.Keys() {
		if others, _ := m.Get(key).([]any); key != "stdio_servers" && len(others) > 0 {
			return nil, fault.New(fault.Unsupported, key+" of a microagent are not started; only stdio_servers are").Hint("name them in the settings or in .mcp.json")
		}
	}
	doc, err := s.Encode(all)
	if err != nil {
		return nil, err
	}
	return ReadMCPServers(doc)
}
