package historycache

import (
	"container/list"
	"sync"
)

// sharedLimit is the memory of all caches together, in bytes: about twenty
// conversations of 5,000 events, or 2,000 of fifty.
const sharedLimit = 64 << 20

// Shared is the pool of the process. There is only one, because each
// conversation may have models of its own.
var Shared = NewPool(sharedLimit)

// Pool limits the memory of its caches.
type Pool struct {
	limit int

	mu      sync.Mutex // also of the caches' maps
	size    int
	entries map[any]*list.Element
	order   *list.List // of *entry, the latest used in front
}

// entry is a history in a cache.
type entry struct {
	owner any // the history
	cost  int
	evict func()
}

// NewPool returns a pool of at most limit bytes.
func NewPool(limit int) *Pool {
	return &Pool{limit: limit, entries: map[any]*list.Element{}, order: list.New()}
}

// add inserts a history in front and evicts the oldest beyond the limit. A
// history of more than half the limit is not kept. The caller holds the lock.
func (p *Pool) add(owner any, cost int, evict func()) {
	if cost > p.limit/2 {
		evict()
		return
	}
	p.entries[owner] = p.order.PushFront(&entry{owner, cost, evict})
	p.size += cost
	for p.size > p.limit {
		oldest := p.order.Back().Value.(*entry)
		p.remove(oldest.owner)
		oldest.evict()
	}
}

// remove removes a history. The caller holds the lock.
func (p *Pool) remove(owner any) {
	if e := p.entries[owner]; e != nil {
		p.size -= p.order.Remove(e).(*entry).cost
		delete(p.entries, owner)
	}
}

// Size returns the memory of all histories in bytes.
func (p *Pool) Size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}
