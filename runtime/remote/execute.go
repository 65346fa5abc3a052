package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/wait"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/protocol"
	"github.com/deft-dev/deft/tool"
)

// Execute implements [runtime.Runtime].
func (r *Runtime) Execute(ctx context.Context, q tool.Request) (event.Observation, error) {
	ctx, done := r.while(ctx)
	defer done()

	var sent bool // an attempt may have reached the server
	var giveUp time.Time
	pause := 10 * time.Millisecond
	for {
		began := time.Now()
		obs, heard, err := r.attempt(ctx, q)
		var lost *lostError
		switch {
		case !errors.As(err, &lost):
			return obs, notSent(err, !sent && fault.Is(err, fault.Unavailable))
		case ctx.Err() != nil:
			return nil, r.left(ctx)
		case lost.dial:
			return nil, notSent(fault.Wrap(err, fault.Unavailable, "the action server cannot be reached"), !sent)
		}
		sent = true
		q.Again, q.Tail = true, false // joins; earlier output is not repeated
		// A connection that lasts for a while shows that the server works; one
		// that answers something and drops at once, repeatedly, does not.
		now := time.Now()
		if held := heard && now.Sub(began) > max(r.reconnect, time.Second); held || giveUp.IsZero() {
			giveUp, pause = now.Add(r.reconnect), 10*time.Millisecond
		} else if now.After(giveUp) {
			return nil, fault.Wrap(err, fault.Unavailable, "the action server drops every connection")
		}
		if err := wait.For(ctx, pause); err != nil {
			return nil, r.left(ctx)
		}
		pause = min(2*pause, time.Second)
	}
}

// notSent adds runtime.ErrNotSent to err if the request was certainly not sent.
func notSent(err error, surely bool) error {
	if !surely {
		return err
	}
	return fmt.Errorf("%w: %w", err, runtime.ErrNotSent)
}

// attempt asks once. heard reports whether the server answered anything.
func (r *Runtime) attempt(ctx context.Context, q tool.Request) (obs event.Observation, heard bool, err error) {
	acks := r.takeAcks()
	defer func() {
		if !heard {
			r.Ack(acks...)
		}
	}()
	raw, err := protocol.EncodeRequest(q, acks)
	if err != nil {
		return nil, false, err
	}
	resp, err := r.do(ctx, http.MethodPost, actionPath(q.ID), raw)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read, nothing is left to fail
	lines := protocol.NewDecoder(resp.Body)
	for {
		line, err := lines.Next()
		switch {
		case fault.Is(err, fault.Corrupt):
			return nil, heard, fmt.Errorf("answer with HTTP status %s: %w", resp.Status, err)
		case err != nil:
			return nil, heard, &lostError{err: err}
		}
		heard = true
		switch {
		case line.Chunk != nil:
			if q.Progress != nil {
				q.Progress(*line.Chunk)
			}
			continue
		case line.Error != nil:
			err = line.Error.Err()
		default:
			obs, err = event.UnmarshalObservation(line.Observation)
		}
		drain(resp.Body)
		return obs, true, err
	}
}

// drain reads the rest of an answer that has ended, so that its connection can be
// used again. If that fails there is merely one fewer.
func drain(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 4<<10) }
