package postgres

import (
	"sync"

	"github.com/deft-dev/deft/eventstream"
)

// topics wakes followers. A wake-up carries nothing: the follower reads on from its own
// position, so that nothing is queued and nothing can be missed. The last events of a
// conversation that is followed are kept in memory, so that a thousand followers do not
// read each of them a thousand times.
type topics struct {
	mu     sync.Mutex
	all    map[int64]*topic // by the key of the conversation
	closed chan struct{}    // ends all followers
}

// topic exists while a conversation has followers.
type topic struct {
	followers int
	changed   chan struct{} // closed by the next change
	known     bool          // last is the last event, as far as this process has been told
	last      eventstream.Seq
	recent    []eventstream.Record
	size      int                             // of recent, in bytes
	reads     map[eventstream.Seq]*sharedRead // by the first event
}

// sharedRead is a read for all followers that need the same events.
type sharedRead struct {
	done chan struct{}
	page page // valid after done, as is err
	err  error
}

// recentBytes is about the most that is kept of a conversation. A thousand may be
// followed.
const recentBytes = 32 << 10

func newTopics() *topics {
	return &topics{all: map[int64]*topic{}, closed: make(chan struct{})}
}

func (t *topics) join(key int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.all[key]
	if p == nil {
		p = &topic{changed: make(chan struct{}), reads: map[eventstream.Seq]*sharedRead{}}
		t.all[key] = p
	}
	p.followers++
}

func (t *topics) leave(key int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.all[key]
	if p.followers--; p.followers == 0 {
		delete(t.all, key)
	}
}

// after returns the events from seq on that are in memory. If there are none and
// current is false, the follower must read. changed is closed by the first change after
// the call: a follower gets it before it reads.
func (t *topics) after(key int64, seq eventstream.Seq) (recs []eventstream.Record, current bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.all[key]
	if n := len(p.recent); n > 0 && p.known {
		if i := seq - p.recent[0].Seq; i >= 0 && i < eventstream.Seq(n) {
			return p.recent[i:n:n], false, p.changed
		}
	}
	return nil, p.known && seq > p.last, p.changed
}

// publish passes on events that this process has stored.
func (t *topics) publish(key int64, recs []eventstream.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.all[key]; p != nil && recs[len(recs)-1].Seq > p.last {
		p.keep(recs)
		p.last = recs[len(recs)-1].Seq
		p.wake()
	}
}

// keep adds events to those in memory, or replaces them.
func (p *topic) keep(recs []eventstream.Record) {
	size := 0
	for i := range recs {
		size += len(recs[i].JSON)
	}
	n := len(p.recent)
	switch {
	case n > 0 && p.recent[n-1].Seq+1 == recs[0].Seq && p.size+size <= recentBytes:
		// A follower may read the existing part: append does not change it.
		p.recent, p.size = append(p.recent, recs...), p.size+size
	case size <= recentBytes:
		p.recent, p.size = recs[:len(recs):len(recs)], size
	default:
		p.recent, p.size = nil, 0
	}
}

// notice says that a conversation has events up to one now, which another process may
// have stored.
func (t *topics) notice(key int64, last eventstream.Seq) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.all[key]; p != nil && last > p.last {
		p.last = last
		p.wake()
	}
}

// stale says that a conversation was deleted.
func (t *topics) stale(key int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.all[key]; p != nil {
		p.forget()
	}
}

// staleAll says that changes may have been missed.
func (t *topics) staleAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.all {
		p.forget()
	}
}

func (p *topic) forget() {
	p.known, p.recent, p.size = false, nil, 0
	clear(p.reads) // reads that began before may not see the change
	p.wake()
}

func (p *topic) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// read returns the read of the events from seq on, and whether the caller must do it:
// it then calls finish.
func (t *topics) read(key int64, seq eventstream.Seq) (r *sharedRead, mine bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.all[key]
	if r = p.reads[seq]; r == nil {
		r, mine = &sharedRead{done: make(chan struct{})}, true
		p.reads[seq] = r
	}
	return r, mine
}

// finish passes on the result of a read.
func (t *topics) finish(key int64, seq eventstream.Seq, r *sharedRead) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(r.done)
	p := t.all[key]
	if p.reads[seq] != r {
		return // something changed while it was under way
	}
	delete(p.reads, seq)
	if r.err == nil {
		p.known, p.last = true, max(p.last, r.page.last)
		if n := len(r.page.recs); n > 0 && r.page.recs[n-1].Seq == p.last {
			p.keep(r.page.recs)
		}
	}
}
