package conversation

import (
	"time"

	"github.com/deft-dev/deft/event"
)

// A client that starts a run listens for its end only once its request is
// answered, and may so miss it (docs/openhands/sdk-wire.md section 0). It is
// told again, but not where it seems to know: one that starts the next run at
// once would take what it is told of the last one for the end of that.

// Two looks of a client that waits are this far apart.
const (
	pollShortest = 100 * time.Millisecond
	pollLongest  = 5 * time.Second
)

// repeat publishes the state again after a moment, if the conversation is
// still at rest then and nobody has listed its events, as a client does that
// was told of the end.
func (m *Manager) repeat(c *Conversation) {
	if !c.hub.watched() {
		return
	}
	ended := c.ended.Load()
	m.running.Go(func() {
		t := time.NewTimer(DefaultRepeat)
		defer t.Stop()
		select {
		case <-t.C:
			if !c.run.busy() && c.listed.Load() < ended {
				c.publishState(nil)
			}
		case <-m.ctx.Done():
		}
	})
}

// noteListed notes that a client lists the events of a conversation.
func (m *Manager) noteListed(id event.ConversationID) {
	if c := m.peek(id); c != nil {
		c.listed.Store(time.Now().UnixNano())
	}
}

// nudge publishes the state of a conversation that a client polls because it
// missed the end of a run. One look is no polling.
func (m *Manager) nudge(id event.ConversationID) {
	c := m.peek(id)
	if c == nil {
		return
	}
	now := time.Now()
	last := c.polled.Swap(now.UnixNano())
	ended := c.ended.Load()
	if ended == 0 || last < ended || c.run.busy() || now.Sub(time.Unix(0, ended)) > time.Minute {
		return
	}
	if gap := now.Sub(time.Unix(0, last)); gap >= pollShortest && gap <= pollLongest {
		c.publishState(nil)
	}
}
