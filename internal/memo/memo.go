// Package memo caches the results of functions that always give the same result
// for the same key and are called with the same few keys: data that the
// conversations of one server have in common is made once.
//
// # Usage
//
//	var schemas = memo.New[[32]byte, json.RawMessage](256)
//
//	schema, err := schemas.Get(key, func() (json.RawMessage, error) { return encode(d) })
//
// # Concurrency
//
// A Memo is safe for concurrent use. Two concurrent calls for a new key may both
// produce the value. Callers must not change the values.
//
// # Failure
//
// An error is returned and not cached. Memory is bounded by the number of keys:
// if there are too many, all are dropped.
package memo

import "sync"

// Memo keeps up to a number of results.
type Memo[K comparable, V any] struct {
	most int

	mu   sync.RWMutex
	kept map[K]V
}

// New returns a Memo that keeps up to most results.
func New[K comparable, V any](most int) *Memo[K, V] {
	return &Memo[K, V]{most: most, kept: make(map[K]V)}
}

// Get returns the result for a key, which produce makes if it is not kept.
func (m *Memo[K, V]) Get(key K, produce func() (V, error)) (V, error) {
	m.mu.RLock()
	v, ok := m.kept[key]
	m.mu.RUnlock()
	if ok {
		return v, nil
	}
	v, err := produce()
	if err != nil {
		return v, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kept) >= m.most {
		clear(m.kept)
	}
	m.kept[key] = v
	return v, nil
}
