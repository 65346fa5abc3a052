package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
)

// The transports of a server.
const (
	Stdio          = "stdio"
	HTTP           = "http" // streamable HTTP, the same as StreamableHTTP
	StreamableHTTP = "streamable-http"
	SSE            = "sse" // the older HTTP transport
)

// Server is one entry of an agent's mcp_config (docs/openhands/sdk-wire.md
// section 5.4). Formatting one shows no value of env, headers or auth.
type Server struct {
	URL            string            `json:"url,omitempty"`
	Transport      string            `json:"transport,omitempty"`
	Command        string            `json:"command,omitempty"`
	Args           []string          `json:"args,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	Cwd            string            `json:"cwd,omitempty"`
	Network        []string          `json:"network,omitempty"` // of a server over stdio; see tool.Program
	Description    string            `json:"description,omitempty"`
	Icon           string            `json:"icon,omitempty"`
	Timeout        *float64          `json:"timeout,omitempty"`          // of connecting and of calls: seconds, or milliseconds above an hour
	SSEReadTimeout *float64          `json:"sse_read_timeout,omitempty"` // kept, not used
	KeepAlive      *bool             `json:"keep_alive,omitempty"`       // kept, not used
	Headers        map[string]string `json:"headers,omitempty"`
	Auth           *Auth             `json:"auth,omitempty"`
	Enabled        *bool             `json:"enabled,omitempty"` // nil is true
}

// The strategies of [Auth].
const (
	AuthNone   = "none"
	AuthAPIKey = "api_key" // Value as HeaderName, or as a bearer token
	AuthBearer = "bearer"
	AuthBasic  = "basic"
	AuthHeader = "header"
	AuthOAuth2 = "oauth2" // a login: of State, or of [Options].Logins
)

// Auth says how requests to a remote server are authenticated.
type Auth struct {
	Strategy       string            `json:"strategy"`
	Value          string            `json:"value,omitempty"`
	HeaderName     string            `json:"header_name,omitempty"`
	Username       string            `json:"username,omitempty"`
	Password       string            `json:"password,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	Authentication json.RawMessage   `json:"authentication,omitempty"`
	State          json.RawMessage   `json:"state,omitempty"`
}

// ParseServers reads an mcp_config: servers by name, bare or below the key
// "mcpServers" as other programs write it. "type" is an alias of transport,
// "shttp" of http, and null is no server. Unknown fields are ignored.
// Errors are of kind fault.Invalid.
func ParseServers(raw json.RawMessage) (map[string]Server, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return map[string]Server{}, nil
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "mcp_config is not an object of servers")
	}
	if inner, ok := entries["mcpServers"]; ok {
		return ParseServers(inner)
	}
	servers := make(map[string]Server, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		s, err := ParseServer(entries[name])
		if err != nil {
			return nil, fmt.Errorf("MCP server %q: %w", name, err)
		}
		servers[name] = s
	}
	return servers, nil
}

// ParseServer reads one server, see [ParseServers].
func ParseServer(raw json.RawMessage) (Server, error) {
	var s struct {
		Server
		Type string `json:"type"`
	}
	if len(raw) == 0 || raw[0] != '{' {
		return Server{}, fault.New(fault.Invalid, "not an object")
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return Server{}, fault.Wrap(err, fault.Invalid, "not a server")
	}
	s.Transport = cmp.Or(s.Transport, s.Type)
	if s.Transport == "shttp" {
		s.Transport = HTTP
	}
	return s.Server, s.Validate()
}

// Validate checks that the fields fit together.
func (s Server) Validate() error {
	bad := func(why string) error { return fault.New(fault.Invalid, why) }
	switch s.Transport {
	case "", Stdio, HTTP, StreamableHTTP, SSE:
	default:
		return bad(fmt.Sprintf("transport must be stdio, http, streamable-http or sse, not %q", s.Transport))
	}
	switch {
	case s.Transport == Stdio && s.Command == "":
		return bad("stdio MCP servers require 'command'")
	case s.Transport != Stdio && s.Transport != "" && s.URL == "":
		return bad("remote MCP servers require 'url'")
	case s.Command == "" && s.URL == "":
		return bad("either 'command' or 'url' is required")
	}
	if len(s.Network) > 0 && s.transport() != Stdio {
		return bad("'network' is for servers with a 'command'; requests to a 'url' are not limited by it")
	}
	if s.Auth == nil {
		return nil
	}
	if !slices.Contains([]string{AuthNone, AuthAPIKey, AuthBearer, AuthBasic, AuthHeader, AuthOAuth2}, s.Auth.Strategy) {
		return bad(fmt.Sprintf("there is no auth strategy %q", s.Auth.Strategy))
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return bad("'auth' cannot be combined with an explicit top-level 'Authorization' header; use auth.strategy='header' instead")
		}
	}
	return nil
}

// transport is the effective transport.
func (s Server) transport() string {
	switch {
	case s.Transport == StreamableHTTP:
		return HTTP
	case s.Transport != "":
		return s.Transport
	case s.Command != "":
		return Stdio
	case strings.HasSuffix(strings.TrimRight(pathOf(s.URL), "/"), "/sse"):
		return SSE
	}
	return HTTP
}

func pathOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Path
}

// limit is the server's own time limit, or the given one.
func (s Server) limit(otherwise time.Duration) time.Duration {
	const hour = 3600
	switch {
	case s.Timeout == nil || !(*s.Timeout > 0): // not a number, too
		return otherwise
	case *s.Timeout <= hour:
		return time.Duration(*s.Timeout * float64(time.Second))
	}
	return time.Duration(min(*s.Timeout, hour*1000) * float64(time.Millisecond)) // as other programs write it
}

// header returns the headers of each request to a remote server. Those of a login follow, see
// [tokens].
func (s Server) header() http.Header {
	h := http.Header{}
	for name, value := range s.Headers {
		h.Set(name, value)
	}
	a := s.Auth
	if a == nil {
		return h
	}
	switch a.Strategy {
	case AuthAPIKey, AuthBearer:
		switch {
		case a.Value == "":
		case a.Strategy == AuthAPIKey && a.HeaderName != "":
			h.Set(a.HeaderName, a.Value)
		default:
			h.Set("Authorization", "Bearer "+a.Value)
		}
	case AuthBasic:
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(a.Username, a.Password)
		h.Set("Authorization", r.Header.Get("Authorization"))
	case AuthHeader:
		for name, value := range a.Headers {
			h.Set(name, value)
		}
	}
	return h
}

// String names the server without its secrets.
func (s Server) String() string {
	if s.transport() == Stdio {
		return "stdio " + s.Command
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.transport()
	}
	return s.transport() + " " + u.Scheme + "://" + u.Host
}

// LogValue implements [slog.LogValuer].
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// GoString implements [fmt.GoStringer].
func (s Server) GoString() string { return s.String() }

// String shows the strategy only.
func (a Auth) String() string { return "auth " + a.Strategy }

// GoString implements [fmt.GoStringer].
func (a Auth) GoString() string { return a.String() }

// concealed replaces a value, as in the settings.
const concealed = "**********"

// conceal removes the values of env, headers and auth, and the address with its
// query, from a text about the server. Short values are not treated as secrets.
func (s Server) conceal(text string) string {
	hide := func(v string) {
		if len(v) >= 8 {
			text = strings.ReplaceAll(text, v, concealed)
		}
	}
	for _, m := range []map[string]string{s.Env, s.Headers} {
		for _, v := range m {
			hide(v)
		}
	}
	if s.Auth != nil {
		hide(s.Auth.Value)
		hide(s.Auth.Password)
		if state, err := parseState(s.Auth.State); err == nil {
			for _, v := range state.secrets() {
				hide(v)
			}
		}
		if as, err := s.authentication(); err == nil {
			hide(as.Secret)
		}
		for _, v := range s.Auth.Headers {
			hide(v)
		}
	}
	if s.URL != "" {
		text = strings.ReplaceAll(text, s.URL, s.String())
	}
	return text
}
