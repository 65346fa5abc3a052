package callback

import (
	"context"
	"encoding/json"
)

// logging writes each event to the server's log: its id and its kind. The event's text
// may be private, and is left out.
type logging struct{}

func newLogging(json.RawMessage) (Processor, error) { return logging{}, nil }

// Process implements [Processor].
func (logging) Process(ctx context.Context, c Call) (Outcome, error) {
	c.Log.InfoContext(ctx, "event callback", "callback", c.Callback, "conversation", c.Conversation, "event", c.Event.Meta().ID, "kind", c.Event.Kind())
	return Outcome{}, nil
}
