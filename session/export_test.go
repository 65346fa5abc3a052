package session

import "time"

// Evict runs the manager's periodic eviction now.
func (m *Manager) EvictIdle(now time.Time) (next time.Time) { return m.evictIdle(now) }
