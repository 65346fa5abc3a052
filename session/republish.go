package session

import (
	"time"

	"github.com/deft-dev/deft/event"
)

// A client that starts a run listens for its end only once its request has been
// answered, and may miss it (docs/openhands/sdk-wire.md section 0). The state is
// published again, except to a client that seems to know it: one that starts
// the next run at once would take it for the end of that run.

// Two requests of a polling client are this far apart.
const (
	pollShortest = 100 * time.Millisecond
	pollLongest  = 5 * time.Second
)

// republishLater publishes the state again after a moment, if the conversation
// is still at rest then and no client has listed its events, as a client does
// that has seen the end.
func (m *Manager) republishLater(c *Conversation) {
	if !c.publish.hub.watched() {
		return
	}
	ended := c.use.ended.Load()
	m.running.Go(func() {
		t := time.NewTimer(DefaultRepublish)
		defer t.Stop()
		select {
		case <-t.C:
			if !c.busy() && c.use.listed.Load() < ended {
				c.publish.state(false)
			}
		case <-m.ctx.Done():
		}
	})
}

// EventsListed is to be called when a client has listed the events of a
// conversation.
func (m *Manager) EventsListed(id event.ConversationID) {
	if c := m.peek(id); c != nil {
		c.seen()
	}
}

// seen notes that a client has seen how the last run ended.
func (c *Conversation) seen() { c.use.listed.Store(time.Now().UnixNano()) }

// republishIfPolled publishes the state of a conversation that a client polls
// because it missed the end of a run. One request is no polling.
func (m *Manager) republishIfPolled(id event.ConversationID) {
	c := m.peek(id)
	if c == nil {
		return
	}
	now := time.Now()
	last := c.use.polled.Swap(now.UnixNano())
	ended := c.use.ended.Load()
	if ended == 0 || last < ended || c.busy() || now.Sub(time.Unix(0, ended)) > time.Minute {
		return
	}
	if gap := now.Sub(time.Unix(0, last)); gap >= pollShortest && gap <= pollLongest {
		c.publish.state(false)
	}
}
