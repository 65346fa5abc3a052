package spec

import (
	"errors"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	s "github.com/deft-dev/deft/schema"
)

// MCPSchema describes one MCP server.
var MCPSchema = Reference("MCPServer", s.Object{Compact: true, After: checkServer})

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

// MCPServer is one MCP server.
type MCPServer struct {
	URL            string                `json:"url"`
	Transport      string                `json:"transport"` // "" where it follows from url and command
	Command        string                `json:"command"`
	Args           []string              `json:"args"`
	Env            map[string]llm.Secret `json:"env"`
	Cwd            string                `json:"cwd"`
	Description    string                `json:"description"`
	Icon           string                `json:"icon"`
	Timeout        *float64              `json:"timeout"` // seconds
	SSEReadTimeout *float64              `json:"sse_read_timeout"`
	KeepAlive      *bool                 `json:"keep_alive"`
	Headers        map[string]llm.Secret `json:"headers"`
	Auth           *MCPAuth              `json:"auth"`
	Enabled        bool                  `json:"enabled"`
}

// MCPAuth says how to authenticate to an MCP server. Strategy is one of none,
// api_key, bearer, basic, header and oauth2; the other fields are those of the
// strategy.
type MCPAuth struct {
	Strategy       string                `json:"strategy"`
	Value          llm.Secret            `json:"value"`
	HeaderName     string                `json:"header_name"`
	Username       string                `json:"username"`
	Password       llm.Secret            `json:"password"`
	Headers        map[string]llm.Secret `json:"headers"`
	Authentication *s.Map                `json:"authentication"` // of oauth2, as on the wire
	State          *s.Map                `json:"state"`
}

// ServersOf returns the servers of a checked map of MCP servers, in order.
func ServersOf(m *s.Map) (order []string, servers map[string]MCPServer, err error) {
	servers = make(map[string]MCPServer, m.Len())
	for _, name := range m.Keys() {
		var one MCPServer
		if err := s.Into(m.Object(name), &one); err != nil {
			return nil, nil, err
		}
		servers[name] = one
	}
	return m.Keys(), servers, nil
}

// EnabledServers returns a checked map of MCP servers without those that are
// switched off.
func EnabledServers(m *s.Map) *s.Map {
	out := s.NewMap()
	for _, name := range m.Keys() {
		if one := m.Object(name); one.Get("enabled") != false {
			out.Set(name, one)
		}
	}
	return out
}
