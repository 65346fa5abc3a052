package sqlite

import (
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// topics wakes followers. A wake-up carries nothing: the follower reads on from
// its own position, so that nothing is queued and nothing can be missed. The
// last appended events of a conversation that is followed are kept in memory, so
// that a thousand followers do not read each of them a thousand times.
type topics struct {
	mu     sync.Mutex
	all    map[event.ConversationID]*topic
	closed chan struct{} // ends all followers
}

// topic exists while a conversation has followers.
type topic struct {
	followers int
	changed   chan struct{} // closed by the next change
	key       int64         // of the conversation that recent belongs to
	recent    []eventstream.Record
}

// recentBytes is the most that is kept of a conversation. A thousand may be
// followed.
const recentBytes = 32 << 10

// fresh has the events that one request appended to a conversation.
type fresh struct {
	id      event.ConversationID
	key     int64
	first   eventstream.Seq
	entries []entry
}

// records returns the events; nil when they are too large to be kept.
func (f fresh) records() []eventstream.Record {
	recs, size := make([]eventstream.Record, len(f.entries)), 0
	for i := range f.entries {
		recs[i] = f.entries[i].rec
		recs[i].Seq = f.first + eventstream.Seq(i)
		if size += len(recs[i].JSON); size > recentBytes {
			return nil
		}
	}
	return recs
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

// publish keeps committed events for their followers.
func (t *topics) publish(all []fresh) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range all {
		if p := t.all[f.id]; p != nil {
			p.key, p.recent = f.key, f.records()
		}
	}
}

// wake wakes the followers of a conversation; stale means that its events in
// memory are not the last ones any more.
func (t *topics) wake(id event.ConversationID, stale bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.all[id]; p != nil {
		p.wake(stale)
	}
}

// wakeAll wakes all followers after another process has written.
func (t *topics) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.all {
		p.wake(true)
	}
}

func (p *topic) wake(stale bool) {
	if stale {
		p.recent = nil
	}
	close(p.changed)
	p.changed = make(chan struct{})
}
