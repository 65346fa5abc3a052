package mcp

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

var least, most = 0.0, 120.0 // seconds of a test

// requestSchema describes the body of a test.
var requestSchema = &s.Object{Before: nameTransport, Fields: []s.Field{
	{Name: "name", Type: s.String{Min: 1, Max: 128}, Default: ""},
	{Name: "server", Required: true, Type: s.Tagged{Key: "type", Of: servers, Order: transports}},
	{Name: "timeout", Type: s.Number{Bounds: s.Bounds{GT: &least, LE: &most}}, Default: s.Float(15)},
	{Name: "tool_call", Type: s.Opt(&s.Object{Fields: []s.Field{
		{Name: "name", Type: s.String{Min: 1}, Required: true},
		{Name: "arguments", Type: s.Dict{Of: s.Any{}}, Default: s.NewMap()},
	}})},
}}

// transports are the names of a server's transports on the wire.
var transports = []string{"stdio", "http", "shttp", "streamable-http", "sse"}

var servers = map[string]*s.Object{
	"stdio": server(
		s.Field{Name: "command", Type: s.String{Min: 1}, Required: true},
		s.Field{Name: "args", Type: s.List{Of: s.String{}}, Default: []any{}},
		s.Field{Name: "env", Type: s.Opt(s.Secrets{})},
		s.Field{Name: "cwd", Type: s.Opt(s.String{})},
	),
	"http": remote, "shttp": remote, "streamable-http": remote, "sse": remote,
}

var remote = server(
	s.Field{Name: "url", Type: s.String{Min: 1}, Required: true},
	s.Field{Name: "headers", Type: s.Opt(s.Secrets{})},
	s.Field{Name: "auth", Type: s.Opt(spec.MCPAuthSchema)},
)

func server(fields ...s.Field) *s.Object {
	return &s.Object{Compact: true, After: oneAuthorization, Fields: append([]s.Field{{Name: "type", Type: s.String{}, Required: true}}, fields...)}
}

// nameTransport gives a server its type where only its transport or its fields
// tell.
func nameTransport(m *s.Map) error {
	given := m.Object("server")
	if _, misplaced := given.Lookup("authentication"); misplaced {
		return errors.New("OAuth authentication metadata belongs under auth.authentication.")
	}
	if _, named := given.Lookup("type"); named || given == nil {
		return nil
	}
	given = given.Copy()
	_, command := given.Lookup("command")
	switch transport := given.Get("transport"); {
	case transport != nil:
		given.Set("type", transport)
	case command:
		given.Set("type", "stdio")
	default:
		given.Set("type", "http")
	}
	m.Set("server", given)
	return nil
}

func oneAuthorization(m *s.Map) error {
	for _, name := range m.Object("headers").Keys() {
		if m.Get("auth") != nil && strings.EqualFold(name, "Authorization") {
			return errors.New("'auth' cannot be combined with an explicit top-level 'Authorization' header; use auth.strategy='header' instead.")
		}
	}
	return nil
}

// readProbe reads the body of a test. oauth reports that the server wants OAuth.
func (svc *Service) readProbe(r *http.Request) (p Probe, oauth bool, err error) {
	doc, err := rest.RequiredDocument(r)
	if err != nil {
		return p, false, err
	}
	m, err := requestSchema.Check(doc, s.Reading{Keys: svc.o.Keys}, "body")
	if err != nil {
		return p, false, err
	}
	var q struct {
		Name    string  `json:"name"`
		Server  *s.Map  `json:"server"`
		Timeout float64 `json:"timeout"`
		Call    struct {
			Name      string `json:"name"`
			Arguments *s.Map `json:"arguments"`
		} `json:"tool_call"`
	}
	if err := s.Into(m, &q); err != nil {
		return p, false, err
	}
	p = Probe{Name: "test-server", Tool: q.Call.Name, Limit: max(time.Duration(q.Timeout*float64(time.Second)), time.Millisecond)}
	if name := strings.TrimSpace(q.Name); name != "" {
		p.Name = name
	}
	if p.Tool != "" {
		if p.Arguments, err = s.Encode(q.Call.Arguments); err != nil {
			return p, false, err
		}
	}
	entry, err := servers[q.Server.Text("type")].Dump(q.Server, s.Writing{Mode: s.Plain})
	if err == nil {
		p.Server, err = s.Encode(entry)
	}
	return p, q.Server.Object("auth").Text("strategy") == "oauth2", err
}
