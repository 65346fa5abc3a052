package mcp

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// The body of a test, and the servers in it.
var (
	requestSchema = spec.Reference("MCPTestRequest", schema.Object{Before: nameTransport})
	stdioSchema   = spec.Reference("_StdioMCPServerSpec", schema.Object{Compact: true},
		schema.Field{Name: "env", Type: schema.Opt(schema.Secrets{})})
	remoteSchema = spec.Reference("_RemoteMCPServerSpec", schema.Object{Compact: true, After: oneAuthorization},
		schema.Field{Name: "headers", Type: schema.Opt(schema.Secrets{})})
)

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
	p = Probe{
		Name: cmp.Or(strings.TrimSpace(q.Name), "test-server"), Tool: q.Call.Name,
		Logins: s.o.Logins, Limit: max(time.Duration(q.Timeout*float64(time.Second)), time.Millisecond),
	}
	if p.Tool != "" {
		if p.Arguments, err = schema.Encode(q.Call.Arguments); err != nil {
			return p, false, err
		}
	}
	server := remoteSchema
	if q.Server.Text("type") == "stdio" {
		server = stdioSchema
	}
	entry, err := server.Dump(q.Server, schema.Writing{Mode: schema.Plain})
	if err == nil {
		p.Server, err = schema.Encode(entry)
	}
	return p, q.Server.Object("auth").Text("strategy") == "oauth2", err
}
