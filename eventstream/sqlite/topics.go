package sqlite

import (
	"slices"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// topics wakes followers. A wake-up carries nothing: the follower reads on from
// its own position, so that nothing is queued and nothing can be missed. The
// newest events of a conversation that is followed are kept in memory, so
// that a thousand followers do not read each of them a thousand times.
type topics struct {
	mu     sync.Mutex
	all    map[event.ConversationID]*topic
	closed chan struct{}
}

// topic exists while a conversation has followers.
type topic struct {
	followers int
	changed   chan struct{} // closed by the next change
	key       int64         // of the conversation that recent belongs to
	recent    []eventstream.Record
	size      int // of recent
}

// The most that is kept of a conversation. A thousand may be followed.
const (
	recentEvents = 16
	recentBytes  = 32 << 10
)

// fresh is what one request appended to a conversation that is followed.
type fresh struct {
	id      event.ConversationID
	key     int64
	first   eventstream.Seq
	entries []entry
}

func newTopics() *topics {
	return &topics{all: map[event.ConversationID]*topic{}, closed: make(chan struct{})}
}

func (t *topics) join(id event.ConversationID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.all[id]
	if p == nil {
		p = &topic{changed: make(chan struct{})}
		t.all[id] = p
	}
	p.followers++
}

func (t *topics) leave(id event.ConversationID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.all[id]
	if p.followers--; p.followers == 0 {
		delete(t.all, id)
	}
}

// after returns the events from seq on that are in memory. current means that
// seq follows the last event in memory; if it is false and there are none, the
// follower must read the database. changed is closed by the first change after
// the call: a follower gets it before it reads.
func (t *topics) after(id event.ConversationID, key int64, seq eventstream.Seq) (recs []eventstream.Record, current bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.all[id]
	if n := len(p.recent); n > 0 && p.key == key {
		switch i := seq - p.recent[0].Seq; {
		case i == eventstream.Seq(n):
			return nil, true, p.changed
		case i >= 0 && i < eventstream.Seq(n):
			return p.recent[i:n:n], false, p.changed
		}
	}
	return nil, false, p.changed
}

// note adds events to those that publish gets, if the conversation has
// followers.
func (t *topics) note(to []fresh, f fresh) []fresh {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[f.id] == nil {
		return to
	}
	return append(to, f)
}

// publish keeps committed events for their followers.
func (t *topics) publish(all []fresh) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range all {
		if p := t.all[f.id]; p != nil {
			p.keep(f)
		}
	}
}

func (p *topic) keep(f fresh) {
	if n := len(p.recent); n > 0 && (p.key != f.key || p.recent[n-1].Seq+1 != f.first) {
		p.forget()
	}
	// A new list each time: followers read the old one, and what is dropped
	// from it must not stay in memory behind its start.
	all := slices.Clone(p.recent)
	skip := max(0, len(f.entries)-recentEvents)
	if skip > 0 {
		all, p.size = nil, 0
	}
	for i := skip; i < len(f.entries); i++ {
		rec := f.entries[i].rec
		rec.Seq = f.first + eventstream.Seq(i)
		all = append(all, rec)
		p.size += len(rec.JSON)
	}
	drop := 0
	for ; len(all)-drop > recentEvents || p.size > recentBytes; drop++ {
		p.size -= len(all[drop].JSON)
	}
	p.key, p.recent = f.key, slices.Clone(all[drop:])
}

func (p *topic) forget() { p.recent, p.size = nil, 0 }

func (p *topic) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (t *topics) wake(id event.ConversationID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.all[id]; p != nil {
		p.wake()
	}
}

// drop wakes the followers of a conversation that was deleted.
func (t *topics) drop(id event.ConversationID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.all[id]; p != nil {
		p.forget()
		p.wake()
	}
}

// wakeAll wakes all followers after another process has written.
func (t *topics) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.all {
		p.forget()
		p.wake()
	}
}

func (t *topics) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all) == 0
}

// close ends all followers.
func (t *topics) close() { close(t.closed) }
