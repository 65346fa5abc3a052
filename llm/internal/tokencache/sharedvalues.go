package tokencache

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
)

// maxShared is how many values a Shared keeps.
const maxShared = 64

// Shared keeps values that several models use, such as their credentials: a
// server has a model for each conversation, and few credentials. The zero value
// is ready to use, and safe for concurrent use.
type Shared[V any] struct {
	mu     sync.Mutex
	values map[string]V
	keys   []string // the oldest first
}

// Get returns the value of a key, made by produce if it is missing. The oldest
// of more than 64 values is evicted; models that have it go on using it.
func (p *Shared[V]) Get(key string, produce func() V) V {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.values[key]; ok {
		return v
	}
	if p.values == nil {
		p.values = map[string]V{}
	}
	if len(p.keys) == maxShared {
		delete(p.values, p.keys[0])
		p.keys = slices.Delete(p.keys, 0, 1)
	}
	v := produce()
	p.values[key], p.keys = v, append(p.keys, key)
	return v
}

// Snapshot reads environment variables once. The key is a hash of their values
// and of more: it differs where they do, and reveals none of them.
func Snapshot(env func(string) string, names []string, more ...string) (frozen func(string) string, key string) {
	values := make(map[string]string, len(names))
	sum := sha256.New()
	for _, text := range slices.Concat(names, more) {
		sum.Write([]byte(text + "\x00")) // writing to a hash cannot fail
	}
	for _, name := range names {
		values[name] = env(name)
		sum.Write([]byte(values[name] + "\x00"))
	}
	return func(name string) string { return values[name] }, hex.EncodeToString(sum.Sum(nil))
}
