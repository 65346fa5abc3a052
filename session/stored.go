package session

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/rawjson"
)

// decodeRecord reads what a conversation was made with.
func decodeRecord(id event.ConversationID, meta eventstream.Meta) (record, error) {
	var r record
	if len(meta.Extra) == 0 {
		return r, errImported(id)
	}
	if err := json.Unmarshal(meta.Extra, &r); err != nil {
		return r, fault.Wrap(err, fault.Corrupt, "read the configuration of conversation "+string(id))
	}
	if len(r.Agent) == 0 {
		return r, errImported(id)
	}
	return r, nil
}

// errImported is returned for a conversation without an agent.
func errImported(id event.ConversationID) error {
	return fault.New(fault.Unsupported, "conversation "+string(id)+" has events but no agent").
		Hint("it was imported; start a new one, or give it an agent with `deft run --resume`")
}

// encodeMeta returns what is stored beside the events of a conversation. The
// caller holds mu or is alone.
func (c *Conversation) encodeMeta() (eventstream.Meta, error) {
	meta := c.meta
	meta.Tags = maps.Clone(meta.Tags)
	var err error
	if meta.Extra, err = rawjson.Encode(c.rec); err != nil {
		return meta, fmt.Errorf("encode the configuration of conversation %s: %w", c.id, err)
	}
	return meta, nil
}
