package store

import (
	"sync"
	"time"
)

// The lookups of each request to the agent server of a sandbox are read once in a while:
// a message would cost two more queries otherwise.
const (
	recentTime = time.Second // after which it is read again: another server may have changed it
	recentMost = 4096
)

// recent keeps rows for a moment after they were read. It is safe for concurrent
// use.
type recent[K comparable, V any] struct {
	mu      sync.Mutex
	changes uint64
	all     map[K]read[V]
}

type read[V any] struct {
	v  V
	at time.Time
}

// get returns a recent row. If there is none, the caller reads it and calls put with the
// number.
func (r *recent[K, V]) get(k K) (v V, ok bool, changes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.all[k]
	if ok && time.Since(e.at) < recentTime {
		return e.v, true, r.changes
	}
	return v, false, r.changes
}

// put keeps a row that was read, unless this server has changed something since.
func (r *recent[K, V]) put(k K, v V, changes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if changes != r.changes {
		return
	}
	if r.all == nil || len(r.all) >= recentMost {
		r.all = map[K]read[V]{}
	}
	r.all[k] = read[V]{v, time.Now()}
}

// changed forgets everything. It is called after a change was stored, or may have been.
func (r *recent[K, V]) changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	clear(r.all)
}
