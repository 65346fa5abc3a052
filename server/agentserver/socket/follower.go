package socket

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/coder/websocket"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// follower is one client of a feed.
type follower struct {
	s    *Service
	l    *link
	p    plan
	c    Conversation
	ring *ring
	news chan struct{}

	// Guarded by ring.mu.
	pos     int64           // of the next entry
	through eventstream.Seq // stored events up to here are not in the ring
	waits   bool

	// The writer's own.
	next  eventstream.Seq    // of the next stored event to send
	since func(*record) bool // which stored events of the history to send; nil for all
	until eventstream.Seq    // the end of the history
	owes  bool               // a full state must be sent
	lost  bool               // something that is not stored was missed
	state int64              // full states up to this number are old
	items map[event.ID]int   // attempts of items begun for this client; negative once aborted
	large bool               // a frame was larger than allowed
	piece int64              // pieces of answers up to this number were sent
}

type record = eventstream.Record

var tooLarge = ending{websocket.StatusTryAgainLater, "frame_too_large"}

// poke wakes the writer; one wake-up is enough for any number of entries.
func (f *follower) poke() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// write sends until the feed or the connection ends.
func (f *follower) write(ctx context.Context) {
	for ctx.Err() == nil {
		e, err := f.round(ctx)
		if err != nil {
			_ = f.l.Conn.Close() // the reader ends
			return
		}
		if e != nil {
			f.l.end(*e)
			return
		}
	}
}

// round sends new entries, or waits for some. It ends the writer with a close frame
// or with the error of the connection.
func (f *follower) round(ctx context.Context) (*ending, error) {
	if f.next <= f.through {
		if e, err := f.catchUp(ctx); e != nil || err != nil {
			return e, err
		}
	}
	if err := f.settle(ctx); err != nil {
		return f.failed(err)
	}
	b := newBatch()
	what, end := f.ring.collect(f, b)
	var err error
	if what == something {
		err = b.send(f.l)
	}
	b.free()
	switch {
	case f.large:
		return &tooLarge, nil
	case what == over:
		return end, nil
	case what == lost:
		f.lost = true
	case what == nothing:
		<-f.news
	}
	return nil, err
}

// failed distinguishes errors of the store from errors of the connection.
func (f *follower) failed(err error) (*ending, error) {
	if errors.Is(err, errGone) {
		return nil, err
	}
	e := endOf(err)
	return &e, nil
}

// take adds an entry to a batch. The ring is locked.
func (f *follower) take(b *batch, e *entry) {
	switch {
	case f.large:
	case e.seq > 0:
		if e.seq >= f.next {
			f.next = e.seq + 1
			raw := e.events
			if f.p.own && e.own != nil {
				raw = e.own
			}
			f.stored(b, e.seq, e.item, raw)
		}
	case e.state > 0 && e.state <= f.state:
		return
	case f.p.style == plain:
		if frame := f.event(e); frame != nil {
			b.text(frame)
		}
	case e.session == nil: // it is not for this kind of socket
	case f.follows(e):
		f.fits(len(e.session))
		if !f.large {
			b.text(e.session)
		}
	}
	f.state = max(f.state, e.state)
}

// stored adds a stored event to a batch.
func (f *follower) stored(b *batch, seq eventstream.Seq, id event.ID, raw []byte) {
	if f.p.style == plain {
		b.text(raw)
		return
	}
	delete(f.items, id)
	_, ok := b.durable(index(seq), raw, f.s.o.MaxFrame)
	f.large = f.large || !ok
}

func (f *follower) fits(n int) { f.large = f.large || n > f.s.o.MaxFrame }

// follows tracks the items of a session client, so that each ends once, and reports
// whether to send an entry.
func (f *follower) follows(e *entry) bool {
	attempt := f.items[e.item] // 0 for an item that began before the client joined
	switch e.step {
	case begins:
		if f.items == nil {
			f.items = map[event.ID]int{}
		}
		f.items[e.item] = e.attempt
	case goesOn:
		return attempt >= 0
	case aborts:
		delete(f.items, e.item)
		return attempt >= 0
	}
	return true
}

// giveUp ends the items of which a session client has missed parts.
func (f *follower) giveUp() error {
	for id, attempt := range f.items {
		if attempt < 0 {
			continue
		}
		f.items[id] = -1
		if err := f.l.sendText(itemAborted(id, attempt, "slow_consumer")); err != nil {
			return err
		}
	}
	return nil
}

// settle ends items and sends the state that a client has missed.
func (f *follower) settle(ctx context.Context) error {
	if f.lost {
		f.lost = false
		if err := errors.Join(f.giveUp(), f.sendOwn()); err != nil {
			return err
		}
	}
	if f.owes {
		return f.sendState(ctx)
	}
	return nil
}

// sendState sends a full state that is newer than all sent before.
func (f *follower) sendState(ctx context.Context) error {
	raw, err := f.fullState(ctx)
	if err != nil {
		return err
	}
	if f.p.style == plain {
		return f.l.sendText(raw)
	}
	return f.l.sendText(append(append([]byte(`{"type":"transient","event":`), raw...), '}'))
}

// fullState makes a full state. If one was published meanwhile, either may be the
// newer one, so another is made. If that happens again and again, the published
// ones are skipped and a state stays due: no older one follows, and the newest is
// not missed.
func (f *follower) fullState(ctx context.Context) (raw json.RawMessage, err error) {
	for range 3 {
		n := f.ring.published()
		if raw, err = f.c.FullState(ctx); err != nil {
			return nil, err
		}
		f.state = f.ring.published()
		if f.owes = f.state != n; !f.owes {
			break
		}
	}
	return clean(raw), nil
}
