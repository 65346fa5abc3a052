package historycache

import (
	"container/list"
	"sync"
)

// sharedLimit is what all caches together may hold, in bytes: some twenty
// conversations of 5,000 events, or 2,000 of fifty.
const sharedLimit = 64 << 20

// Shared is the pool of the process. There is one, because each conversation
// may have models of its own.
var Shared = NewPool(sharedLimit)

// Pool bounds the memory of the caches in it.
type Pool struct {
	limit int

	mu    sync.Mutex // also of the caches' maps
	size  int
	held  map[any]*list.Element
	order *list.List // of *holding, the latest used in front
}

// holding is a history that a cache keeps.
type holding struct {
	owner  any // the history
	cost   int
	forget func()
}

// NewPool makes a pool of at most limit bytes.
func NewPool(limit int) *Pool {
	return &Pool{limit: limit, held: map[any]*list.Element{}, order: list.New()}
}

// add puts a history in front and forgets what is too much. One that would
// push out most others is not kept itself. The caller holds the lock.
func (p *Pool) add(owner any, cost int, forget func()) {
	if cost > p.limit/2 {
		forget()
		return
	}
	p.held[owner] = p.order.PushFront(&holding{owner, cost, forget})
	p.size += cost
	for p.size > p.limit {
		oldest := p.order.Back().Value.(*holding)
		p.remove(oldest.owner)
		oldest.forget()
	}
}

// remove takes a history out. The caller holds the lock.
func (p *Pool) remove(owner any) {
	if e := p.held[owner]; e != nil {
		p.size -= p.order.Remove(e).(*holding).cost
		delete(p.held, owner)
	}
}

// Size returns how many bytes the caches hold.
func (p *Pool) Size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}
