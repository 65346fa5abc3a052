// Package ratelimit bounds how often something is done for each of many keys, such as
// users or addresses: a burst at once, and then one each interval (a token bucket).
//
// # Usage
//
//	attempts := ratelimit.New(20, 3*time.Second)
//	if wait := attempts.Take(ratelimit.Network(peer), time.Now()); wait > 0 {
//		// too many: again after wait
//	}
//
// # Concurrency and failure
//
// A Limiter is safe for concurrent use and needs bounded memory: of more than
// [MaxKeys] keys the one that waits least is forgotten.
package ratelimit

import (
	"net/netip"
	"sync"
	"time"
)

// MaxKeys is how many keys a limiter remembers.
const MaxKeys = 10_000

// Limiter bounds how often something is done.
type Limiter struct {
	burst    int
	interval time.Duration

	mu sync.Mutex
	// full is when the bucket of a key will be full again; times in the past are not
	// kept.
	full map[string]time.Time
}

// New returns a limiter that lets burst through at once for each key, and one more each
// interval. A burst of 0 lets everything through.
func New(burst int, interval time.Duration) *Limiter {
	return &Limiter{burst: burst, interval: interval, full: map[string]time.Time{}}
}

// Take counts one for a key and returns 0, or how long to wait until it would.
func (l *Limiter) Take(key string, now time.Time) time.Duration {
	if l.burst == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.full[key]
	if full.Before(now) {
		full = now
	}
	full = full.Add(l.interval)
	if wait := full.Sub(now) - time.Duration(l.burst)*l.interval; wait > 0 {
		return wait
	}
	if _, known := l.full[key]; !known && len(l.full) >= MaxKeys {
		l.forget(now)
	}
	l.full[key] = full
	return 0
}

// forget drops the keys whose bucket is full, or else the one that waits least.
func (l *Limiter) forget(now time.Time) {
	least := ""
	for key, full := range l.full {
		switch {
		case !full.After(now):
			delete(l.full, key)
		case least == "" || full.Before(l.full[least]):
			least = key
		}
	}
	if len(l.full) >= MaxKeys {
		delete(l.full, least)
	}
}

// Network returns the key of an address: itself, or the network of 64 bits that an IPv6
// host mostly has for itself.
func Network(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
