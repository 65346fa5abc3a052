// Package mcp is the room of the Agent Server for tools: it tries an MCP
// server before a user keeps it, and lists the tools that agents can have
// (sdk-wire.md section 10).
//
// # Usage
//
//	s := mcp.New(mcp.Options{Probe: probe, Reveal: keys.Reveal, Tools: mcp.Catalogue()})
//	routes := s.Routes()
//
// The program gives it what connects, because that is an adapter's work.
//
// # Concurrency and failure
//
// Safe for concurrent use. That a server cannot be reached is an answer, not
// an error: it is what a test is for. At most [MaxProbes] run at a time.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
)

// MaxProbes bounds the servers that are tried at a time; further ones wait.
const MaxProbes = 8

// Probe is one trial of a server.
type Probe struct {
	Name string
	// Server is an entry of mcp_config with plain values.
	Server json.RawMessage
	// Limit is for connecting and listing, and again for the call.
	Limit time.Duration
	// Tool is called with Arguments if it is not empty.
	Tool      string
	Arguments json.RawMessage
}

// Result is what a server showed.
type Result struct {
	Tools  []string
	Called bool
	Failed bool // the call
	Text   string
}

// Options are what the room needs.
type Options struct {
	// Probe tries a server. The kind of its error says what failed:
	// fault.Timeout, fault.Unavailable for the connection, or another.
	Probe func(context.Context, Probe) (Result, error)
	// Reveal decrypts a value that came back from the settings; other values
	// it returns as they are. Nil for no encryption.
	Reveal func(string) string
	// Tools are what agents can have, in the order of the list.
	Tools []Tool
}

// Service answers for the room. Make one with [New].
type Service struct {
	o     Options
	slots chan struct{}
}

// New returns the service.
func New(o Options) *Service {
	if o.Reveal == nil {
		o.Reveal = func(s string) string { return s }
	}
	return &Service{o: o, slots: make(chan struct{}, MaxProbes)}
}

// request is the body of a test.
type request struct {
	Name     *string                    `json:"name"`
	Server   map[string]json.RawMessage `json:"server"`
	Timeout  *float64                   `json:"timeout"`
	ToolCall *struct {
		Name      *string         `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"tool_call"`
}

const (
	defaultName    = "test-server"
	defaultTimeout = 15.0
	maxTimeout     = 120.0
)

// probe checks a request and makes a trial of it. oauth reports that the
// server wants OAuth.
func (s *Service) probe(q request) (p Probe, oauth bool, err error) {
	if q.Server == nil {
		return p, false, schema.Missing("body", "server")
	}
	if _, has := q.Server["authentication"]; has {
		return p, false, schema.Invalid("OAuth authentication metadata belongs under auth.authentication.", nil, "body")
	}
	p = Probe{Name: defaultName, Limit: seconds(defaultTimeout)}
	if q.Name != nil {
		if *q.Name == "" || len(*q.Name) > 128 {
			return p, false, schema.Violations{{Type: "string_length", Loc: []any{"body", "name"}, Msg: "String should have 1 to 128 characters", Input: *q.Name}}
		}
		if name := strings.TrimSpace(*q.Name); name != "" {
			p.Name = name
		}
	}
	if q.Timeout != nil {
		switch t := *q.Timeout; {
		case t <= 0:
			return p, false, schema.Violations{{Type: "greater_than", Loc: []any{"body", "timeout"}, Msg: "Input should be greater than 0", Input: t, Ctx: map[string]any{"gt": 0.0}}}
		case t > maxTimeout:
			return p, false, schema.Violations{{Type: "less_than_equal", Loc: []any{"body", "timeout"}, Msg: "Input should be less than or equal to 120", Input: t, Ctx: map[string]any{"le": maxTimeout}}}
		default:
			p.Limit = seconds(t)
		}
	}
	if c := q.ToolCall; c != nil {
		if err := rest.NotEmpty(c.Name, "body", "tool_call", "name"); err != nil {
			return p, false, err
		}
		var object map[string]json.RawMessage
		if c.Arguments != nil && (json.Unmarshal(c.Arguments, &object) != nil || object == nil) {
			return p, false, schema.Violations{{Type: "dict_type", Loc: []any{"body", "tool_call", "arguments"}, Msg: "Input should be a valid dictionary", Input: c.Arguments}}
		}
		p.Tool, p.Arguments = *c.Name, c.Arguments
	}
	p.Server, oauth, err = s.server(q.Server)
	return p, oauth, err
}

func seconds(s float64) time.Duration {
	return max(time.Duration(s*float64(time.Second)), time.Millisecond)
}

// listed reads a list of texts, which may be absent.
func listed(raw json.RawMessage, loc []any) ([]string, schema.Violations) {
	if raw == nil {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, schema.Violations{{Type: "list_type", Loc: loc, Msg: "Input should be a valid list"}}
	}
	out := make([]string, len(list))
	var wrong schema.Violations
	for i, one := range list {
		if len(wrong) == schema.MostViolations {
			break
		}
		var text *string
		if json.Unmarshal(one, &text) != nil || text == nil {
			wrong = append(wrong, schema.Violation{Type: "string_type", Loc: append(slices.Clone(loc), i), Msg: "Input should be a valid string"})
			continue
		}
		out[i] = *text
	}
	return out, wrong
}

// transports are the forms of a server, as they are named on the wire.
var transports = []string{"stdio", "http", "shttp", "streamable-http", "sse"}

// server reads one server, in the form of the settings or the older one with a
// type, and returns it as an entry of mcp_config.
func (s *Service) server(given map[string]json.RawMessage) (raw json.RawMessage, oauth bool, err error) {
	kind, err := transport(given)
	if err != nil {
		return nil, false, err
	}
	loc := []any{"body", "server", kind}
	fail := func(typ, field, msg string) error {
		return schema.Violations{{Type: typ, Loc: append(slices.Clone(loc), field), Msg: msg}}
	}
	entry := map[string]any{"transport": kind}
	if kind == "shttp" {
		entry["transport"] = "http"
	}
	address, fields := "url", []string{"headers"}
	if kind == "stdio" {
		address, fields = "command", []string{"env"}
		args, wrong := listed(given["args"], append(slices.Clone(loc), "args"))
		if wrong != nil {
			return nil, false, wrong
		}
		entry["args"] = args
		var cwd *string
		if v := given["cwd"]; v != nil && json.Unmarshal(v, &cwd) != nil {
			return nil, false, fail("string_type", "cwd", "Input should be a valid string")
		}
		if cwd != nil {
			entry["cwd"] = *cwd
		}
	}
	at, has := given[address]
	var text string
	switch {
	case !has:
		return nil, false, schema.Missing(append(loc, address)...)
	case json.Unmarshal(at, &text) != nil || string(at) == "null":
		return nil, false, fail("string_type", address, "Input should be a valid string")
	case text == "":
		return nil, false, rest.NotEmpty(&text, append(loc, address)...)
	}
	entry[address] = text
	var values map[string]string
	if v := given[fields[0]]; present(v) && json.Unmarshal(v, &values) != nil {
		return nil, false, fail("dict_type", fields[0], "Input should be a valid dictionary")
	}
	entry[fields[0]] = s.reveal(values)
	if v := given["auth"]; kind != "stdio" && present(v) {
		auth, isOAuth, err := s.auth(v, values, loc)
		if err != nil {
			return nil, false, err
		}
		entry["auth"], oauth = auth, isOAuth
	}
	raw, err = json.Marshal(entry)
	return raw, oauth, err
}

func present(v json.RawMessage) bool { return v != nil && string(v) != "null" }

// transport returns the form of a server, by its type, its transport or its
// fields.
func transport(given map[string]json.RawMessage) (string, error) {
	v, has := given["type"]
	if !has {
		v = given["transport"]
	}
	if !has && !present(v) {
		if _, stdio := given["command"]; stdio {
			return "stdio", nil
		}
		return "http", nil
	}
	var kind string
	if json.Unmarshal(v, &kind) == nil && slices.Contains(transports, kind) {
		return kind, nil
	}
	tags := "'" + strings.Join(transports, "', '") + "'"
	return "", schema.Violations{{
		Type: "union_tag_invalid", Loc: []any{"body", "server"},
		Msg:   fmt.Sprintf("Input tag '%s' found using 'type' does not match any of the expected tags: %s", strings.Trim(string(v), `"`), tags),
		Input: map[string]any{"type": v}, Ctx: map[string]any{"discriminator": "'type'", "tag": strings.Trim(string(v), `"`), "expected_tags": tags},
	}}
}

func (s *Service) reveal(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = s.o.Reveal(v)
	}
	return out
}

// auth checks how a remote server is told who asks, and decrypts it.
func (s *Service) auth(raw json.RawMessage, headers map[string]string, loc []any) (map[string]any, bool, error) {
	loc = append(slices.Clone(loc), "auth")
	var auth map[string]any
	if json.Unmarshal(raw, &auth) != nil {
		return nil, false, schema.Violations{{Type: "dict_type", Loc: loc, Msg: "Input should be a valid dictionary"}}
	}
	strategy, ok := auth["strategy"].(string)
	if !ok || !slices.Contains([]string{"none", "api_key", "bearer", "basic", "header", "oauth2"}, strategy) {
		return nil, false, schema.Violations{{
			Type: "union_tag_invalid", Loc: loc,
			Msg: "Input tag found using 'strategy' does not match any of the expected tags: 'none', 'api_key', 'bearer', 'basic', 'header', 'oauth2'",
		}}
	}
	for name := range headers {
		if strings.EqualFold(name, "Authorization") {
			return nil, false, schema.Invalid("'auth' cannot be combined with an explicit top-level 'Authorization' header; use auth.strategy='header' instead.", nil, loc[:len(loc)-1]...)
		}
	}
	for _, key := range []string{"value", "password"} {
		if v, ok := auth[key].(string); ok {
			auth[key] = s.o.Reveal(v)
		}
	}
	if m, ok := auth["headers"].(map[string]any); ok {
		for k, v := range m {
			if text, ok := v.(string); ok {
				m[k] = s.o.Reveal(text)
			}
		}
	}
	return auth, strategy == "oauth2", nil
}

// answer is what a test says. Fields of the other outcome are absent.
type answer struct {
	OK         bool        `json:"ok"`
	Tools      *[]string   `json:"tools,omitempty"`
	ToolResult *toolResult `json:"tool_result,omitempty"`
	Error      string      `json:"error,omitempty"`
	ErrorKind  string      `json:"error_kind,omitempty"` // timeout, connection or unknown
}

type toolResult struct {
	IsError bool   `json:"is_error"`
	Text    string `json:"text"`
}

// test tries a server.
func (s *Service) test(ctx context.Context, p Probe) answer {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return failure(fault.Wrap(ctx.Err(), fault.Canceled, "the client went away"))
	}
	r, err := s.o.Probe(ctx, p)
	if err != nil {
		return failure(err)
	}
	if r.Tools == nil {
		r.Tools = []string{}
	}
	a := answer{OK: true, Tools: &r.Tools}
	if r.Called {
		a.ToolResult = &toolResult{r.Failed, r.Text}
	}
	return a
}

func failure(err error) answer {
	kind := "unknown"
	switch fault.KindOf(err) {
	case fault.Timeout:
		kind = "timeout"
	case fault.Unavailable:
		kind = "connection"
	}
	return answer{Error: err.Error(), ErrorKind: kind}
}
