package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/wait"
	"github.com/deft-dev/deft/runtime/protocol"
)

// host names the server in URLs; it is not resolved.
const host = "http://actions"

var errClosed = errors.New("the runtime is closed")

// dialError says that there is no server.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// lostError says that there was no whole answer.
type lostError struct {
	err  error
	dial bool // there is no server
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

func actionPath(id event.ID) string { return "/v1/actions/" + url.PathEscape(string(id)) }

// while returns a context that ends with ctx and with the Runtime.
func (r *Runtime) while(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.ctx, func() { cancel(errClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// left returns the error of a request that ended with its context.
func (r *Runtime) left(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errClosed) {
		return fault.Wrap(cause, fault.Unavailable, "stopped waiting for the action server")
	}
	return fault.Wrap(cause, fault.Canceled, "stopped waiting for the action server")
}

// do sends a request. Every error is a *lostError.
func (r *Runtime) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, host+path, bytes.NewReader(body))
	if err != nil {
		return nil, &lostError{err: err}
	}
	// Without it the transport never sends a request a second time by itself:
	// only Execute can mark a repeated request as one.
	req.GetBody = nil
	resp, err := r.transport.RoundTrip(req)
	if err != nil {
		var dial *dialError
		return nil, &lostError{err: err, dial: errors.As(err, &dial)}
	}
	select { // there is a server: keepLease may try again
	case r.back <- struct{}{}:
	default:
	}
	return resp, nil
}

func (r *Runtime) post(ctx context.Context, path string, body []byte) error {
	return r.call(ctx, http.MethodPost, path, body, nil)
}

// call sends a request with a short answer, decoded into out unless that is nil.
func (r *Runtime) call(ctx context.Context, method, path string, body []byte, out any) error {
	ctx, done := r.while(ctx)
	defer done()
	resp, err := r.do(ctx, method, path, body)
	if err != nil {
		if ctx.Err() != nil {
			return r.left(ctx)
		}
		return fault.Wrap(err, fault.Unavailable, "the action server cannot be reached")
	}
	defer func() { _ = resp.Body.Close() }() // it was read, nothing is left to fail
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "the action server's answer was cut off")
	}
	if resp.StatusCode/100 != 2 {
		var line protocol.Line
		if err := json.Unmarshal(raw, &line); err != nil || line.Error == nil {
			return fault.New(fault.Corrupt, "the action server answered with HTTP status "+resp.Status)
		}
		return line.Error.Err()
	}
	if out == nil {
		return nil
	}
	return fault.Wrap(json.Unmarshal(raw, out), fault.Corrupt, "the action server's answer cannot be read")
}

// keepLease holds a lease until Close. When the server has ended it waits for a
// request to find one, instead of retrying.
func (r *Runtime) keepLease() {
	pause := 20 * time.Millisecond
	for r.ctx.Err() == nil {
		held, err := r.holdLease()
		if held {
			pause = 20 * time.Millisecond
		}
		var lost *lostError
		if errors.As(err, &lost) && lost.dial {
			select {
			case <-r.back:
			case <-r.ctx.Done():
				return
			}
		}
		if wait.For(r.ctx, pause) != nil {
			return
		}
		pause = min(2*pause, 2*time.Second)
	}
}

// holdLease returns when the lease has ended, and whether there was one.
func (r *Runtime) holdLease() (held bool, err error) {
	resp, err := r.do(r.ctx, http.MethodGet, "/v1/lease", nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // it ended already
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK, err
}
