package spec

import (
	"errors"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	s "github.com/deft-dev/deft/schema"
)

var (
	number = s.Opt(s.Number{})
	secret = s.Opt(s.Secret{})
	names  = s.List{Of: s.String{}}
)

// MCPSchema describes one MCP server.
var MCPSchema = &s.Object{
	Name: "MCPServer", Extra: s.Forbid, Compact: true, After: checkServer,
	Fields: []s.Field{
		{Name: "url", Type: s.Opt(s.String{Min: 1})},
		{Name: "transport", Type: s.Opt(s.Enum{"stdio", "http", "streamable-http", "sse"})},
		{Name: "command", Type: s.Opt(s.String{Min: 1})},
		{Name: "args", Type: s.Opt(names)},
		{Name: "env", Type: s.Opt(s.Secrets{})},
		{Name: "cwd", Type: text},
		{Name: "description", Type: text},
		{Name: "icon", Type: text},
		{Name: "timeout", Type: number},
		{Name: "sse_read_timeout", Type: number},
		{Name: "keep_alive", Type: s.Opt(s.Bool{})},
		{Name: "headers", Type: s.Opt(s.Secrets{})},
		{Name: "auth", Type: s.Opt(MCPAuthSchema)},
		{Name: "enabled", Type: s.Bool{}, Default: true},
	},
}

// MCPServers is a map of MCP servers by their names.
var MCPServers = s.Dict{Of: MCPSchema}

// MCPAuthSchema describes how to authenticate to an MCP server.
var MCPAuthSchema = s.Tagged{
	Key: "strategy", Order: []string{"none", "api_key", "bearer", "basic", "header", "oauth2"},
	Of: map[string]*s.Object{
		"none":    credential(),
		"api_key": credential(s.Field{Name: "value", Type: secret}, s.Field{Name: "header_name", Type: text}),
		"bearer":  credential(s.Field{Name: "value", Type: secret}),
		"basic":   credential(s.Field{Name: "username", Type: s.String{}, Required: true}, s.Field{Name: "password", Type: secret}),
		"header":  credential(s.Field{Name: "headers", Type: s.Secrets{}, Default: func() any { return s.NewMap() }}),
		"oauth2":  credential(s.Field{Name: "authentication", Type: s.Opt(oauthSchema)}, s.Field{Name: "state", Type: s.Opt(oauthState)}),
	},
}

func credential(fields ...s.Field) *s.Object {
	return &s.Object{Compact: true, Fields: append([]s.Field{{Name: "strategy", Type: s.String{}, Required: true}}, fields...)}
}

var oauthSchema = &s.Object{
	Extra: s.Forbid, Compact: true,
	Fields: []s.Field{
		{Name: "type", Type: s.Enum{"oauth"}, Required: true},
		{Name: "client_auth_method", Type: s.Opt(s.Enum{"none", "client_secret_post", "client_secret_basic", "private_key_jwt"})},
		{Name: "scopes", Type: s.Opt(s.Either{s.String{}, names})},
		{Name: "client_name", Type: text},
		{Name: "client_metadata_url", Type: text},
		{Name: "client_id", Type: text},
		{Name: "client_secret", Type: secret},
		{Name: "additional_client_metadata", Type: s.Opt(s.Dict{Of: s.Any{}})},
	},
}

var oauthState = &s.Object{
	Compact: true,
	Fields: []s.Field{
		{Name: "tokens", Type: s.Opt(&s.Object{Compact: true, Extra: s.Keep, Fields: []s.Field{{Name: "access_token", Type: secret}, {Name: "refresh_token", Type: secret}}})},
		{Name: "client_info", Type: s.Opt(&s.Object{Compact: true, Extra: s.Keep, Fields: []s.Field{{Name: "client_secret", Type: secret}}})},
		{Name: "token_expires_at", Type: number},
	},
}

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
