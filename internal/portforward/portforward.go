// Package portforward passes connections to ports of this machine on to programs in a
// sandbox, over the link to its action server: the sandbox needs no network for it.
//
// # Usage
//
//	l, err := net.Listen("tcp", "127.0.0.1:8080")
//	err = portforward.Serve(ctx, l, func(ctx context.Context) (portforward.Target, error) {
//		return rt.DialPort(ctx, 80)
//	}, refused)
//
// # Concurrency and failure
//
// Each connection has two goroutines, which Serve waits for. A connection that cannot be
// passed on is closed and reported; the others go on.
package portforward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Target is a connection to a program.
type Target interface {
	io.ReadWriteCloser
	// CloseWrite ends the direction to the program.
	CloseWrite() error
}

// Serve passes connections on until ctx ends, and closes the listener. refused is called
// for those that dial has no target for; it may be called concurrently.
func Serve(ctx context.Context, l net.Listener, dial func(context.Context) (Target, error), refused func(error)) error {
	ctx, cancel := context.WithCancel(ctx)
	var connections sync.WaitGroup
	defer connections.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // Accept fails then
	defer stop()
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close() // it came too late
			}
			return nil
		case err != nil:
			return errors.Join(fmt.Errorf("accept a connection: %w", err), l.Close())
		}
		connections.Go(func() {
			defer conn.Close()
			target, err := dial(ctx)
			if err != nil {
				if ctx.Err() == nil {
					refused(err)
				}
				return
			}
			defer target.Close()
			defer context.AfterFunc(ctx, func() { _, _ = conn.Close(), target.Close() })()
			pass(conn.(*net.TCPConn), target)
		})
	}
}

// pass copies both directions until both have ended. Either side may leave at any time,
// which is no error of ours.
func pass(conn *net.TCPConn, target Target) {
	var sending sync.WaitGroup
	sending.Go(func() {
		if _, err := io.Copy(target, conn); err != nil || target.CloseWrite() != nil {
			_ = target.Close() // the other direction ends too
		}
	})
	if _, err := io.Copy(conn, target); err != nil || conn.CloseWrite() != nil {
		_ = conn.Close() // the other direction ends too
	}
	sending.Wait()
}
