// Package ports reaches the programs that listen in the sandboxes of conversations: it lists
// them, passes requests on to them, and starts VS Code.
//
// # Usage
//
//	e, err := ports.StartEditor(ctx, conversation, link)
//	ports.Proxy{Port: e.Port, Dial: dial, Log: log}.ServeHTTP(w, r)
//
// A program may be hostile, and so its pages: a caller gives them an origin of their own, or an
// address that nobody guesses.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Where a program does not answer, a page says so.
package ports

import (
	"context"
	"net"
)

// Port is one on which a program in a sandbox listens.
type Port struct {
	Port    int
	Address string // at which it listens, inside
}

// Link is a connection to a sandbox.
type Link interface {
	Ports(ctx context.Context) ([]Port, error)
	// Dial connects to a port. The connection outlives Close.
	Dial(ctx context.Context, port int) (net.Conn, error)
	Close() error
}
