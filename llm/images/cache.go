package images

import (
	"container/list"
	"sync"
)

// cacheBytes is the size of a model's cache.
const cacheBytes = 64 << 20

// key is an image and the limit of its sides.
type key struct {
	url  string
	side int
}

// result is an image within the limits, or the reason why there is none.
type result struct{ url, refused string }

// cache keeps the most recently used results.
type cache struct {
	limit int
	work  sync.Mutex // one image is decoded at a time

	mu      sync.Mutex
	size    int
	entries map[key]*list.Element // of *entry
	order   *list.List            // the latest used in front
}

type entry struct {
	key    key
	result result
}

func (e *entry) cost() int { return len(e.key.url) + len(e.result.url) + len(e.result.refused) + 200 }

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: map[key]*list.Element{}, order: list.New()}
}

// get returns the result of k, calling fit if it is not cached.
func (c *cache) get(k key, fit func() result) result {
	if r, ok := c.find(k); ok {
		return r
	}
	c.work.Lock()
	defer c.work.Unlock()
	if r, ok := c.find(k); ok { // another call made it meanwhile
		return r
	}
	r := fit()
	c.put(&entry{k, r})
	return r
}

func (c *cache) find(k key) (result, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[k]
	if e == nil {
		return result{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry).result, true
}

func (c *cache) put(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[e.key] = c.order.PushFront(e)
	c.size += e.cost()
	for c.size > c.limit {
		last := c.order.Remove(c.order.Back()).(*entry)
		delete(c.entries, last.key)
		c.size -= last.cost()
	}
}
