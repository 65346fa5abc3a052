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
// passed on is closed and reported; the others go on. Requests of HTTP/1 pass without the
// cookies of Deft's servers, and TLS passes at an address of its own only, such as 127.0.0.2.
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
// for those that dial has no target for, and for TLS; it may be called concurrently.
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
			if err := pass(conn.(*net.TCPConn), target); err != nil { // also if ctx has ended since
				refused(err)
			}
		})
	}
}

// pass copies both directions until both have ended. Either side may leave at any time,
// which is no error of ours. The error is why the connection was not passed on.
func pass(conn *net.TCPConn, target Target) (err error) {
	var out, back io.Writer = target, conn
	tls := errTLS(conn)
	if !separate(conn) {
		asked := &methods{}
		out, back = newRequests(target, asked, tls), newAnswers(conn, asked)
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		_, failed := io.Copy(out, conn)
		if errors.Is(failed, tls) {
			err = tls
			_ = conn.Close() // the program has not got a byte
		}
		if failed != nil || target.CloseWrite() != nil {
			_ = target.Close() // the other direction ends too
		}
	})
	if _, err := io.Copy(back, target); err != nil || conn.CloseWrite() != nil {
		_ = conn.Close() // the other direction ends too
	}
	sending.Wait()
	return err
}
