package socket

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/deft-dev/deft/fault"
	clientview "github.com/deft-dev/deft/server/view"
)

var errStuck = fault.New(fault.Corrupt, "the stream ends before its last event")

// catchUp sends stored events that the ring does not have.
func (f *follower) catchUp(ctx context.Context) (*ending, error) {
	for f.next <= f.through {
		from := f.next
		left, err := f.readOn(ctx)
		if left != nil {
			err = f.l.rest(left)
		}
		switch {
		case f.large:
			return &tooLarge, nil
		case err == nil && f.next == from:
			return f.failed(errStuck)
		case err == nil:
		case f.s.unreadable(ctx, f.c, f.next, err):
			f.next++ // the reference skips it as well
		default:
			return f.failed(err)
		}
	}
	return nil, nil
}

// turn is how long one follower may read the store while others wait.
const turn = 100 * time.Millisecond

// readOn sends stored events up to the start of the ring, for one turn. Few
// followers read at one time, because each holds a page of the store. If the client
// is slow, readOn ends its turn and returns the rest to write.
func (f *follower) readOn(ctx context.Context) (left net.Buffers, err error) {
	select {
	case f.s.readers <- struct{}{}:
	case <-ctx.Done():
		return nil, fault.Wrap(ctx.Err(), fault.Canceled, "wait for a turn to read")
	}
	defer func() { <-f.s.readers }()
	start := time.Now()
	b := newBatch()
	defer func() {
		if left == nil {
			b.free()
		}
	}()
	for rec, err := range f.c.Stream().Read(ctx, f.c.ID(), f.next) {
		if err != nil {
			if !b.empty() {
				err = errors.Join(b.send(f.l), err)
			}
			return nil, err
		}
		if !b.hasSpace() {
			if left, err = f.l.try(b.pieces()); left != nil || err != nil {
				return left, err
			}
			b.reset()
			if time.Since(start) > turn {
				break // the next turn reads this record again
			}
		}
		f.next = rec.Seq + 1
		if rec.Seq > f.until || f.since == nil || f.since(&rec) {
			f.stored(b, rec.Seq, rec.ID, clean(clientview.Event(rec.JSON, f.p.own)))
		}
		if rec.Seq >= f.through || f.large {
			break
		}
	}
	if b.empty() {
		return nil, nil
	}
	return nil, b.send(f.l)
}
