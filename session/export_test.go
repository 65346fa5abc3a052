package session

import (
	"time"
)

// PublishState publishes the present state.
func (c *Conversation) PublishState() { c.publish.state(true) }

// Evict runs the manager's periodic eviction now.
func (m *Manager) EvictIdle(now time.Time) (next time.Time) { return m.evictIdle(now) }
