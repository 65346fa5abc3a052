package session

import (
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Placement returns how the conversation is isolated, as it was made or changed.
func (c *configuration) Placement() Placement {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.Placement
}

// Placement is [Conversation.Placement] without loading or using the conversation.
// NotFound if there is none.
func (m *Manager) Placement(ctx context.Context, id event.ConversationID) (Placement, error) {
	if c := m.peek(id); c != nil {
		return c.Placement(), nil
	}
	info, err := m.o.Store.Info(ctx, id)
	if err != nil {
		return Placement{}, err
	}
	var p Placement
	if len(info.Meta.Extra) == 0 { // imported
		return p, nil
	}
	err = json.Unmarshal(info.Meta.Extra, &p)
	return p, fault.Wrap(err, fault.Corrupt, "read the configuration of conversation "+string(id))
}
