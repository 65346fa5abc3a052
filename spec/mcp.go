package spec

import (
	"errors"
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
