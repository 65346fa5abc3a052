// Package remote is the client of an Action Execution Server: a [runtime.Runtime]
// over the HTTP of runtime/protocol, on any stream socket.
//
// # Usage
//
//	rt, err := remote.New(remote.Options{Dial: func(ctx context.Context) (net.Conn, error) {
//		return new(net.Dialer).DialContext(ctx, "unix", path)
//	}})
//	defer rt.Close() // running actions go on for the server's grace time
//
// While the Runtime is open it holds a lease, which tells the server that a
// controller is connected.
//
// # Concurrency
//
// A Runtime is safe for concurrent use; each request in flight has a
// connection, and they are reused.
//
// # Failure
//
// If the connection is lost while an action runs, the Runtime connects again and
// joins the action. If the server cannot be reached the error is of kind
// fault.Unavailable: the caller starts another server and asks again, with
// Again set unless the error holds runtime.ErrNotSent. Errors from
// the server keep their kind. A malformed answer is fault.Corrupt.
package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/protocol"
	"github.com/deft-dev/deft/tool"
)

// DefaultReconnect is the default of [Options.Reconnect].
const DefaultReconnect = 10 * time.Second

// ackTimeout bounds handing over the last acknowledgements in Close.
const ackTimeout = time.Second

// Options say how to reach the server.
type Options struct {
	// Dial connects to the server. An error means that there is no server.
	// Required.
	Dial func(ctx context.Context) (net.Conn, error)
	// Reconnect bounds how long a server that can be dialled but drops every
	// connection is tried. Default DefaultReconnect.
	Reconnect time.Duration
}

// Runtime is the client of one Action Execution Server. Make one with [New].
type Runtime struct {
	dial      func(ctx context.Context) (net.Conn, error)
	reconnect time.Duration
	transport *http.Transport

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	lease  sync.WaitGroup
	back   chan struct{} // a request got through: the lease may be taken again

	mu   sync.Mutex
	acks []event.ID // to send with the next request
}

var (
	_ runtime.Runtime      = (*Runtime)(nil)
	_ runtime.Acknowledger = (*Runtime)(nil)
	_ runtime.Preparer     = (*Runtime)(nil)
	_ runtime.Offering     = (*Runtime)(nil)
)

// New returns a Runtime and begins to hold its lease. It does not wait for the
// server. The error is of kind fault.Invalid.
func New(o Options) (*Runtime, error) {
	if o.Dial == nil {
		return nil, fault.New(fault.Invalid, "a remote runtime needs a function that dials its server")
	}
	if o.Reconnect <= 0 {
		o.Reconnect = DefaultReconnect
	}
	r := &Runtime{dial: o.Dial, reconnect: o.Reconnect, back: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := r.dial(ctx)
			if err != nil {
				return nil, &dialError{err}
			}
			return conn, nil
		},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        4 * time.Minute, // below the server's, so that it does not close under us
		MaxResponseHeaderBytes: 64 << 10,
		ReadBufferSize:         32 << 10,
		WriteBufferSize:        32 << 10,
	}
	r.lease.Go(r.keepLease)
	return r, nil
}

// Interrupt implements [runtime.Runtime].
func (r *Runtime) Interrupt(ctx context.Context, id event.ID) error {
	return r.post(ctx, actionPath(id)+"/interrupt", nil)
}

// Prepare implements [runtime.Preparer].
func (r *Runtime) Prepare(ctx context.Context) error {
	return r.post(ctx, "/v1/prepare", nil)
}

// Linger implements [runtime.Lingering].
func (r *Runtime) Linger(ctx context.Context, d time.Duration) error {
	raw, err := json.Marshal(protocol.Linger{Seconds: d.Seconds()})
	if err != nil {
		return fmt.Errorf("write how long the server lives: %w", err)
	}
	return r.post(ctx, "/v1/linger", raw)
}

// Ack implements [runtime.Acknowledger]: the acknowledgements travel with the
// next request, or when the Runtime is closed.
func (r *Runtime) Ack(ids ...event.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acks = append(r.acks, ids...)
}

func (r *Runtime) takeAcks() []event.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	acks := r.acks
	r.acks = nil
	return acks
}

// Health returns the state of the server.
func (r *Runtime) Health(ctx context.Context) (protocol.Health, error) {
	var h protocol.Health
	return h, r.call(ctx, http.MethodGet, "/health", nil, &h)
}

// Tools returns the tools that the server's executors bring. The error is the one
// of setting them up, if that failed.
func (r *Runtime) Tools(ctx context.Context) ([]tool.External, error) {
	var t protocol.Tools
	err := r.call(ctx, http.MethodGet, "/v1/tools", nil, &t)
	return t.Tools, err
}

// Shutdown makes the server interrupt its actions and end. It returns when the
// server has accepted the request, not when it has ended.
func (r *Runtime) Shutdown(ctx context.Context) error {
	return r.post(ctx, "/v1/shutdown", nil)
}

// Close ends the lease, and the requests in flight with fault.Unavailable. The
// server and its actions go on. Acknowledgements that no longer reach the server
// only leave its journal larger.
func (r *Runtime) Close() error {
	if r.ctx.Err() != nil {
		return nil
	}
	if acks := r.takeAcks(); len(acks) > 0 {
		ctx, cancel := context.WithTimeout(r.ctx, ackTimeout)
		defer cancel()
		if body, err := json.Marshal(protocol.Ack{Ack: acks}); err == nil {
			_ = r.post(ctx, "/v1/ack", body)
		}
	}
	r.cancel(errClosed)
	r.lease.Wait()
	r.transport.CloseIdleConnections()
	return nil
}
