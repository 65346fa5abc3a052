package session

import "time"

// Evict is what the manager does from time to time, as if it were now.
func (m *Manager) EvictIdle(now time.Time) { m.evictIdle(now) }
