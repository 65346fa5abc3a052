package conversation

import "time"

// Evict is what the manager does from time to time, as if it were now.
func (m *Manager) Evict(now time.Time) { m.evict(now) }
