package main

import (
	"context"
	"net"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/appserver/apps"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
)

// sandboxLinks connects to sandboxes of a builder, once it is open.
type sandboxLinks struct{ builder *build.Builder }

// link implements [apps.Options].
func (s *sandboxLinks) link(ctx context.Context, r session.BuildRequest) (apps.Link, error) {
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

// sandboxLink implements [apps.Link].
type sandboxLink struct{ *remote.Runtime }

// Ports implements [apps.Link].
func (l sandboxLink) Ports(ctx context.Context) ([]apps.Port, error) {
	found, err := l.Runtime.Ports(ctx)
	var out []apps.Port
	for _, p := range found {
		out = append(out, apps.Port{Port: p.Port, Address: p.Address})
	}
	return out, err
}

// Dial implements [apps.Link].
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
