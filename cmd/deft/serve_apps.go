package main

import (
	"context"
	"encoding/json"
	"net"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/appserver/config"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/ports"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/tool/mcp"
)

// sandboxLinks connects to sandboxes of a builder, once it is open.
type sandboxLinks struct{ builder *build.Builder }

// link implements [apps.Options].
func (s *sandboxLinks) link(ctx context.Context, r session.BuildRequest) (ports.Link, error) {
	rt, err := s.builder.Link(ctx, r)
	if err != nil {
		return nil, err
	}
	return sandboxLink{rt}, nil
}

// Isolation implements [v1.Isolations].
func (s *sandboxLinks) Isolation(ctx context.Context, p session.Placement, id event.ConversationID) (sandbox.Report, error) {
	return s.builder.Isolation(ctx, p, id)
}

// TryIsolation implements [v1.Isolations].
func (s *sandboxLinks) TryIsolation(ctx context.Context) (sandbox.Report, error) {
	return s.builder.TryIsolation(ctx)
}

// tryMCP implements [appserver.Options].
func (s *sandboxLinks) tryMCP(ctx context.Context, name string, server json.RawMessage, limit time.Duration) ([]string, error) {
	one, err := mcp.ParseServer(server)
	if err != nil {
		return nil, err
	}
	return s.builder.TryMCP(ctx, name, one, limit)
}

// warm opens the pool of sandboxes that wait for conversations; nil where there can be none.
// One that is switched off has no member, and removes those that an earlier server has left.
func (s *sandboxLinks) warm(cfg *config.Config, class sandbox.Class) sandboxes.OpenPool {
	if class.New == nil || class.Inside != "" {
		return nil
	}
	ready := cfg.Sandbox.Warm
	if sandboxes.Strategy(cfg.Sandbox.Grouping) != sandboxes.NoGrouping {
		ready = 0
	}
	if ready == 0 && cfg.Classes.Runtime != "" {
		return nil
	}
	return func(prepare func(context.Context, event.ConversationID) (string, error), discard func(context.Context, event.ConversationID) error) (sandboxes.Pool, error) {
		return s.builder.Warm(build.WarmOptions{Ready: ready, Prepare: prepare, Discard: discard})
	}
}

// sandboxLink implements [ports.Link].
type sandboxLink struct{ *remote.Runtime }

// Ports implements [ports.Link].
func (l sandboxLink) Ports(ctx context.Context) ([]ports.Port, error) {
	found, err := l.Runtime.Ports(ctx)
	var out []ports.Port
	for _, p := range found {
		out = append(out, ports.Port{Port: p.Port, Address: p.Address})
	}
	return out, err
}

// Dial implements [ports.Link].
func (l sandboxLink) Dial(ctx context.Context, port int) (net.Conn, error) {
	c, err := l.DialPort(ctx, port)
	if err != nil {
		return nil, err
	}
	return portConn{c}, nil
}

// portConn is a connection to a program in a sandbox for net/http, whose client sets no
// deadlines: contexts end its requests.
type portConn struct{ *remote.PortConn }

func (portConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (portConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (portConn) SetDeadline(time.Time) error      { return nil }
func (portConn) SetReadDeadline(time.Time) error  { return nil }
func (portConn) SetWriteDeadline(time.Time) error { return nil }
