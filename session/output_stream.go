package session

import (
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/tool"
)

// outputStream publishes what running actions print, masked, as it comes. A
// secret that is split between two pieces of one action's output is found: what
// could be its beginning is held back until more comes, or until the action's
// result is recorded.
type outputStream struct {
	c *Conversation

	mu    sync.Mutex
	masks map[event.ID]*secret.Stream // by action
}

func newOutputStream(c *Conversation) *outputStream {
	return &outputStream{c: c, masks: map[event.ID]*secret.Stream{}}
}

// feed takes a piece of the output of an action.
func (p *outputStream) feed(action event.ID, chunk tool.Chunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.masks[action]
	if m == nil {
		if !p.c.hub.watched() {
			return
		}
		m = p.c.secrets.Stream()
		p.masks[action] = m
	}
	p.publish(action, m.Feed(chunk.Text))
}

// ended publishes what was held back of an action that has a result.
func (p *outputStream) ended(action event.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.masks[action]; m != nil {
		delete(p.masks, action)
		p.publish(action, m.Flush())
	}
}

func (p *outputStream) publish(action event.ID, text string) {
	if text != "" {
		p.c.hub.publish(Transient{Output: &Output{Action: action, Text: text}})
	}
}

// endedBy returns the action whose result an event is, or "".
func endedBy(ev event.Event) event.ID {
	switch e := ev.(type) {
	case *event.ObservationEvent:
		return e.ActionID
	case *event.UserRejectObservation:
		return e.ActionID
	}
	return ""
}
