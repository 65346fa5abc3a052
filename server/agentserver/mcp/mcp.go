// Package mcp serves the routes of tools: it tries an MCP server before a user
// keeps it, and lists the tools that agents can have (docs/openhands/sdk-wire.md
// section 10).
//
// # Usage
//
//	s := mcp.New(mcp.Options{Probe: probe, Keys: ring, Tools: mcp.Catalogue()})
//	routes := s.Routes()
//
// The program gives it the function that connects, because that is an adapter.
//
// # Concurrency and failure
//
// Safe for concurrent use. A server that cannot be reached is an answer, not an
// error. At most [MaxProbes] tests run at a time.
package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/mcplogin"
)

// MaxProbes bounds the tests that run at a time; further ones wait.
const MaxProbes = 8

// Probe is one test of a server.
type Probe struct {
	Name string
	// Server is an entry of mcp_config with secrets in the clear.
	Server json.RawMessage
	// Limit is for connecting and listing, and again for the call.
	Limit time.Duration
	// Tool is called with Arguments, a JSON object; "" calls none.
	Tool      string
	Arguments json.RawMessage
	// Logins are the caller's logins at remote servers; nil for none.
	Logins mcplogin.Logins
}

// Result is the result of a test.
type Result struct {
	Tools  []string
	Called bool
	Failed bool // the call
	Text   string
	// State is the login of the server's entry as it is now, if it was renewed.
	State json.RawMessage
}

// Options configure the service.
type Options struct {
	// Probe tests a server. The kind of its error names the failure: fault.Timeout,
	// fault.Unavailable for the connection, or another.
	Probe func(context.Context, Probe) (Result, error)
	// LogIn logs in at a server, Jobs has the logins under way, and Logins keeps them.
	LogIn  mcplogin.LogIn
	Jobs   *mcplogin.Jobs
	Logins mcplogin.Logins
	// Keys open values that come sealed from the settings; nil for none.
	Keys schema.Keys
	// Tools are the tools that agents can have, in the order of the list.
	Tools []Tool
}

// Service serves the routes. Make one with [New].
type Service struct {
	o     Options
	slots chan struct{}
}

// New returns the service.
func New(o Options) *Service {
	return &Service{o: o, slots: make(chan struct{}, MaxProbes)}
}

// answer is the result of a test. Fields of the other outcome are left out.
type answer struct {
	OK         bool        `json:"ok"`
	Tools      *[]string   `json:"tools,omitempty"`
	ToolResult *toolResult `json:"tool_result,omitempty"`
	Error      string      `json:"error,omitempty"`
	ErrorKind  string      `json:"error_kind,omitempty"` // timeout, connection or unknown
	// State is a login that was made or renewed, with its secrets sealed.
	State *schema.Map `json:"oauth_state,omitempty"`
}

type toolResult struct {
	IsError bool   `json:"is_error"`
	Text    string `json:"text"`
}

// test tests a server.
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
	return s.succeeded(r)
}

func (s *Service) succeeded(r Result) answer {
	if r.Tools == nil {
		r.Tools = []string{}
	}
	var err error
	a := answer{OK: true, Tools: &r.Tools}
	if r.Called {
		a.ToolResult = &toolResult{r.Failed, r.Text}
	}
	if r.State != nil {
		if a.State, err = s.sealed(r.State); err != nil {
			return failure(err)
		}
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
