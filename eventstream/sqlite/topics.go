package sqlite

import (
	"sync"

	"github.com/deft-dev/deft/event"
)

// topics wakes followers. A wake-up carries nothing: who wakes reads on from
// its own position, so that nothing is queued and nothing can be missed.
type topics struct {
	mu     sync.Mutex
	all    map[event.ConversationID]*topic
	closed chan struct{}
}

// topic exists while a conversation has followers.
type topic struct {
	followers int
	changed   chan struct{} // closed by the next change
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

// changed returns a channel that is closed by the first change after the
// call. A follower gets it before it reads.
func (t *topics) changed(id event.ConversationID) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[id].changed
}

func (t *topics) wake(id event.ConversationID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.all[id]; p != nil {
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

func (t *topics) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.all {
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

func (t *topics) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all) == 0
}

// close ends all followers.
func (t *topics) close() { close(t.closed) }
