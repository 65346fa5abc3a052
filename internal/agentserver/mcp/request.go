package mcp

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

var least, most = 0.0, 120.0 // seconds of a test

// requestSchema describes the body of a test.
var requestSchema = &schema.Object{Before: nameTransport, Fields: []schema.Field{
	{Name: "name", Type: schema.String{Min: 1, Max: 128}, Default: ""},
	{Name: "server", Required: true, Type: schema.Tagged{Key: "type", Of: servers, Order: transports}},
	{Name: "timeout", Type: schema.Number{Bounds: schema.Bounds{GT: &least, LE: &most}}, Default: schema.Float(15)},
	{Name: "tool_call", Type: schema.Opt(&schema.Object{Fields: []schema.Field{
		{Name: "name", Type: schema.String{Min: 1}, Required: true},
		{Name: "arguments", Type: schema.Dict{Of: schema.Any{}}, Default: schema.NewMap()},
	}})},
}}

// transports are the names of a server's transports on the wire.
var transports = []string{"stdio", "http", "shttp", "streamable-http", "sse"}

var servers = map[string]*schema.Object{
	"stdio": server(
		schema.Field{Name: "command", Type: schema.String{Min: 1}, Required: true},
		schema.Field{Name: "args", Type: schema.List{Of: schema.String{}}, Default: []any{}},
		schema.Field{Name: "env", Type: schema.Opt(schema.Secrets{})},
		schema.Field{Name: "cwd", Type: schema.Opt(schema.String{})},
	),
	"http": remote, "shttp": remote, "streamable-http": remote, "sse": remote,
}

var remote = server(
	schema.Field{Name: "url", Type: schema.String{Min: 1}, Required: true},
	schema.Field{Name: "headers", Type: schema.Opt(schema.Secrets{})},
	schema.Field{Name: "auth", Type: schema.Opt(spec.MCPAuthSchema)},
)

func server(fields ...schema.Field) *schema.Object {
	return &schema.Object{Compact: true, After: oneAuthorization, Fields: append([]schema.Field{{Name: "type", Type: schema.String{}, Required: true}}, fields...)}
}

// nameTransport gives a server its type where only its transport or its fields
// tell.
func nameTransport(m *schema.Map) error {
	given := m.Object("server")
	if _, misplaced := given.Lookup("authentication"); misplaced {
		return errors.New("OAuth authentication metadata belongs under auth.authentication.") //nolint:revive,staticcheck // the reference's words
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

func oneAuthorization(m *schema.Map) error {
	for _, name := range m.Object("headers").Keys() {
		if m.Get("auth") != nil && strings.EqualFold(name, "Authorization") {
			return errors.New("'auth' cannot be combined with an explicit top-level 'Authorization' header; use auth.strategy='header' instead.") //nolint:revive,staticcheck // the reference's words
		}
	}
	return nil
}

// readProbe reads the body of a test. oauth reports that the server wants OAuth.
func (s *Service) readProbe(r *http.Request) (p Probe, oauth bool, err error) {
	doc, err := rest.RequiredDocument(r)
	if err != nil {
		return p, false, err
	}
	m, err := requestSchema.Check(doc, schema.Reading{Keys: s.o.Keys}, "body")
	if err != nil {
		return p, false, err
	}
	var q struct {
		Name    string      `json:"name"`
		Server  *schema.Map `json:"server"`
		Timeout float64     `json:"timeout"`
		Call    struct {
			Name      string      `json:"name"`
			Arguments *schema.Map `json:"arguments"`
		} `json:"tool_call"`
	}
	if err := schema.Into(m, &q); err != nil {
		return p, false, err
	}
	p = Probe{Name: "test-server", Tool: q.Call.Name, Limit: max(time.Duration(q.Timeout*float64(time.Second)), time.Millisecond)}
	if name := strings.TrimSpace(q.Name); name != "" {
		p.Name = name
	}
	if p.Tool != "" {
		if p.Arguments, err = schema.Encode(q.Call.Arguments); err != nil {
			return p, false, err
		}
	}
	entry, err := servers[q.Server.Text("type")].Dump(q.Server, schema.Writing{Mode: schema.Plain})
	if err == nil {
		p.Server, err = schema.Encode(entry)
	}
	return p, q.Server.Object("auth").Text("strategy") == "oauth2", err
}
