package socket

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	clientview "github.com/deft-dev/deft/server/view"
)

// step is the effect of an entry on an item of a session socket.
type step uint8

const (
	begins step = iota + 1
	goesOn
	aborts
)

// entry is one thing that is sent to all followers of a feed.
type entry struct {
	seq     eventstream.Seq // 0 for records that are not stored
	state   int64           // of a full state: its number
	events  []byte          // for event sockets; of a stored event its JSON
	own     []byte          // of a stored event with a kind of ours: its JSON for clients that know it; else nil
	session []byte          // for session sockets; nil for a stored event
	answer  []byte          // for event sockets that ask for answers
	number  int64           // of a piece of an answer
	item    event.ID        // that it completes or is a part of
	step    step
	attempt int
}

func (e *entry) size() int { return len(e.events) + len(e.own) + len(e.session) + len(e.answer) + 100 }

// clean returns JSON as valid UTF-8, which text frames must be: otherwise clients
// close the connection.
func clean(b json.RawMessage) []byte {
	if utf8.Valid(b) {
		return b
	}
	return []byte(strings.ToValidUTF8(string(b), "\ufffd"))
}

// ring holds the newest entries of a feed for its followers. It is empty while all
// of them have everything.
type ring struct {
	mu        sync.Mutex
	entries   []entry // the first has position base
	base      int64
	bytes     int
	last      eventstream.Seq // of the newest stored event
	waiting   []entry         // not stored; they follow events that are not read yet
	after     []eventstream.Seq
	states    int64           // full states published
	stateOf   eventstream.Seq // the event before the newest full state
	followers map[*follower]struct{}
	idle      int // followers that have everything
	end       *ending
}

// ending is the close frame at the end of a feed.
type ending struct {
	code   websocket.StatusCode
	reason string
}

// A ring can be small: followers that lag behind read the store.
const (
	maxEntries = 1024
	maxBytes   = 256 << 10
)

func newRing() *ring { return &ring{followers: map[*follower]struct{}{}} }

// begin sets which event was the last before the ring's first.
func (r *ring) begin(last eventstream.Seq) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = last
	r.release(last)
	r.wake()
}

// store adds the next stored event.
func (r *ring) store(rec eventstream.Record) {
	e := entry{seq: rec.Seq, events: clean(clientview.Event(rec.JSON, false)), item: rec.ID}
	if own := clean(rec.JSON); !bytes.Equal(own, e.events) {
		e.own = own
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(rec.Seq - 1)
	r.last = rec.Seq
	r.add(e)
	r.release(rec.Seq)
	r.wake()
}

// skip skips an unreadable event.
func (r *ring) skip(seq eventstream.Seq) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = seq
	r.release(seq)
	r.wake()
}

// publish adds a record that is not stored, as soon as the event that it follows
// was read.
func (r *ring) publish(e entry, after eventstream.Seq, state bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		return
	}
	if state {
		if after < r.stateOf {
			return // it is older than the last published one
		}
		r.states++
		r.stateOf, e.state = after, r.states
	}
	if len(r.waiting) == 0 && after <= r.last {
		r.add(e)
		r.wake()
		return
	}
	if len(r.waiting) >= maxEntries && e.step == goesOn {
		return // a part of an answer may be lost; the order shows the gap
	}
	r.waiting, r.after = append(r.waiting, e), append(r.after, after)
}

// release moves entries that waited for an event.
func (r *ring) release(last eventstream.Seq) {
	n := 0
	for n < len(r.waiting) && r.after[n] <= last {
		r.add(r.waiting[n])
		n++
	}
	if n == len(r.waiting) {
		r.waiting, r.after = nil, nil
		return
	}
	r.waiting, r.after = r.waiting[n:], r.after[n:]
}

func (r *ring) add(e entry) {
	if len(r.followers) == 0 {
		r.base++ // there is no follower to keep it for
		return
	}
	r.entries = append(r.entries, e)
	r.bytes += e.size()
	for len(r.entries) > 1 && (len(r.entries) > maxEntries || r.bytes > maxBytes) {
		r.bytes -= r.entries[0].size()
		r.entries[0] = entry{}
		r.entries = r.entries[1:]
		r.base++
	}
}

// head is the position after the newest entry.
func (r *ring) head() int64 { return r.base + int64(len(r.entries)) }

// wake wakes all followers.
func (r *ring) wake() {
	for f := range r.followers {
		r.busy(f)
		f.poke()
	}
}

// close ends the feed for present and later followers.
func (r *ring) close(e ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == nil {
		r.end = &e
	}
	r.wake()
}

func (r *ring) join(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followers[f] = struct{}{}
	r.seek(f)
}

func (r *ring) leave(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy(f)
	delete(r.followers, f)
	r.forget()
}

// seek moves a follower to the end; it reads stored events up to f.through from
// the store.
func (r *ring) seek(f *follower) {
	r.busy(f)
	f.pos, f.through = r.head(), r.last
}

func (r *ring) busy(f *follower) {
	if f.waits {
		f.waits = false
		r.idle--
	}
}

// forget removes the entries when all followers have them.
func (r *ring) forget() {
	if r.idle == len(r.followers) {
		r.base, r.entries, r.bytes = r.head(), nil, 0
	}
}

// published returns how many full states were published.
func (r *ring) published() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states
}

// found is a follower's result of looking in the ring.
type found int

const (
	nothing found = iota
	something
	lost // the next entry is no longer in the ring
	over
)

// collect fills a batch with new entries for a follower.
func (r *ring) collect(f *follower, b *batch) (found, *ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil && f.pos >= r.head() {
		return over, r.end
	}
	if f.pos < r.base {
		f.owes = f.owes || r.states > f.state
		r.seek(f)
		return lost, nil
	}
	r.busy(f)
	for f.pos < r.head() && b.hasSpace() {
		e := &r.entries[f.pos-r.base]
		f.pos++
		f.take(b, e)
	}
	if !b.empty() {
		return something, nil
	}
	f.waits = true
	r.idle++
	r.forget()
	return nothing, nil
}
