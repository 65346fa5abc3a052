package registry

import (
	"sync"
	"time"
)

// Buckets are the upper bounds that starts are counted by.
var Buckets = []time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 100 * time.Millisecond,
	300 * time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second,
}

// Histogram counts starts by how long they took.
type Histogram struct {
	Counts []uint64 // for each of Buckets, and one for all that took longer
	Count  uint64
	Sum    time.Duration
}

// latencies are the latencies of starts that the pool served, and of others.
type latencies struct {
	mu         sync.Mutex
	warm, cold Histogram
}

func (l *latencies) add(d time.Duration, warm bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &l.cold
	if warm {
		h = &l.warm
	}
	if h.Counts == nil {
		h.Counts = make([]uint64, len(Buckets)+1)
	}
	i := 0
	for i < len(Buckets) && d > Buckets[i] {
		i++
	}
	h.Counts[i]++
	h.Count++
	h.Sum += d
}

// Latencies returns how long starts took that the pool served, and others.
func (r *Registry) Latencies() (warm, cold Histogram) {
	l := &r.claims
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.warm.clone(), l.cold.clone()
}

func (h Histogram) clone() Histogram {
	h.Counts = append([]uint64(nil), h.Counts...)
	return h
}
