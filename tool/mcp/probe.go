package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
)

// Probed is the result of [Probe].
type Probed struct {
	Tools  []string // as the server calls them, in its order
	Called bool     // the tool was called, or could not be
	Failed bool     // the call's result is an error
	Text   string   // of the call's result
	// State is the login of the configuration as it is now, if it was renewed.
	State json.RawMessage
}

// Probe connects to a server, lists its tools, calls one of them when toolName is
// not empty, and disconnects (POST /api/mcp/test). The tools are not checked.
// o has its Programs and Logins. limit bounds connecting and listing, and again the
// call. The kind of an error is fault.Timeout, fault.Unavailable for a server that cannot be
// reached, or another.
func Probe(ctx context.Context, name string, config Server, o Options, limit time.Duration, toolName string, arguments json.RawMessage) (p Probed, err error) {
	o.ConnectTimeout = limit
	s := &Set{opts: o}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.opts.fill(); err != nil {
		return Probed{}, err
	}
	sv := newServer(name, config, s)
	s.servers = []*server{sv}
	defer s.Close()
	list, err := sv.list(ctx)
	if err != nil && !fault.Is(err, fault.Limit) {
		return Probed{}, err
	}
	p.Tools = make([]string, 0, len(list))
	defer func() { p.State = sv.renewed() }()
	known := false
	for _, t := range list {
		p.Tools = append(p.Tools, describe(t.Name, 200))
		known = known || t.Name == toolName
	}
	switch {
	case toolName == "":
		return p, nil
	case !known:
		p.Called, p.Failed = true, true
		p.Text = fmt.Sprintf("Tool '%s' not advertised by server (available: %s)", toolName, available(p.Tools))
		return p, nil
	}
	err = sv.probe(ctx, limit, toolName, arguments, &p)
	return p, err
}

// renewed returns the login of the configuration if it was renewed; nil otherwise.
func (s *server) renewed() json.RawMessage {
	s.mu.Lock()
	live := s.session
	s.mu.Unlock()
	if live == nil || live.http == nil {
		return nil
	}
	g, ok := live.http.Transport.(*guard)
	if !ok || g.tokens == nil || !g.tokens.seeded {
		return nil
	}
	g.tokens.busy <- struct{}{}
	defer func() { <-g.tokens.busy }()
	raw, err := json.Marshal(g.tokens.state)
	if was, werr := parseState(s.config.Auth.State); err != nil || werr != nil || was.Tokens == g.tokens.state.Tokens {
		return nil
	}
	return raw
}

func available(tools []string) string {
	if len(tools) == 0 {
		return "none"
	}
	return strings.Join(tools, ", ")
}

// probe calls a tool and notes how that went.
func (s *server) probe(ctx context.Context, limit time.Duration, tool string, arguments json.RawMessage, p *Probed) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	live, err := s.get(ctx)
	if err != nil {
		return err
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	result, err := live.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	p.Called = true
	if err != nil {
		if fault.Is(slow(ctx, limit, err), fault.Timeout) {
			p.Failed, p.Text = true, fmt.Sprintf("Tool '%s' call timed out after %g seconds", tool, limit.Seconds())
			return nil
		}
		return s.failed("call "+describe(tool, 200), err)
	}
	var texts []string
	for _, c := range result.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			texts = append(texts, clean(t.Text))
		}
	}
	p.Failed, p.Text = result.IsError, shorten(strings.Join(texts, "\n"), maxText)
	return nil
}
