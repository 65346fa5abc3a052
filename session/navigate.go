package session

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

const kindStateUpdate = "ConversationStateUpdateEvent"

// onTree returns the event of the tree for an id. A state update is
// not in the tree: it maps to the event that was HEAD when it was published. ""
// is before the first event. NotFound for an id of no event.
func (c *Conversation) onTree(ctx context.Context, id event.ID) (event.ID, error) {
	for id != "" {
		rec, err := c.m.o.Store.Get(ctx, c.id, id)
		switch {
		case fault.Is(err, fault.NotFound):
			return "", unknownEvent(id)
		case err != nil:
			return "", err
		case rec.Kind != kindStateUpdate:
			return id, nil
		case rec.ParentID == event.Root || rec.ParentID == id:
			return "", nil
		}
		id = rec.ParentID
	}
	return "", nil
}

func unknownEvent(id event.ID) error {
	return fault.New(fault.NotFound, "Unknown event_id: "+string(id))
}
