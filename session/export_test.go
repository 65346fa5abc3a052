package session

import (
	"time"

	"github.com/deft-dev/deft/secret"
)

// PublishState publishes the present state.
func (c *Conversation) PublishState() { c.publish.state(true) }

// Evict runs the manager's periodic eviction now.
func (m *Manager) EvictIdle(now time.Time) (next time.Time) { return m.evictIdle(now) }

// StyledMask is what masks the output of actions.
type StyledMask struct{ m styledMask }

// NewStyledMask returns one.
func NewStyledMask(s *secret.Stream) *StyledMask { return &StyledMask{styledMask{mask: s}} }

func (m *StyledMask) Feed(text string) string { return m.m.feed(text) }

func (m *StyledMask) Flush() string { return m.m.flush() }
