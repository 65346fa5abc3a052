package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
)

// most bounds what a Pool keeps.
const most = 64

// Pool lets those that would keep the same thing keep it together: a server has
// one model for each conversation, and few credentials. The zero Pool is ready
// to use, and safe for concurrent use.
type Pool[V any] struct {
	mu     sync.Mutex
	values map[string]V
	keys   []string // the oldest first
}

// Get returns what is kept for key, or what produce gives. The oldest of more than
// 64 is forgotten; who has it keeps it.
func (p *Pool[V]) Get(key string, produce func() V) V {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.values[key]; ok {
		return v
	}
	if p.values == nil {
		p.values = map[string]V{}
	}
	if len(p.keys) == most {
		delete(p.values, p.keys[0])
		p.keys = slices.Delete(p.keys, 0, 1)
	}
	v := produce()
	p.values[key], p.keys = v, append(p.keys, key)
	return v
}

// Snapshot reads variables of an environment once. The key stands for their
// values, and those of more, without holding them: they may be secrets.
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
