package sqlite

import (
	"bytes"
	"encoding/json"
)

const (
	kindStateUpdate = "ConversationStateUpdateEvent"
	kindMessage     = "MessageEvent"

	statusKey = "execution_status"
)

// statusOf returns the value of an execution_status update, or nil for the
// update of anything else.
func statusOf(raw []byte) *string {
	if !bytes.Contains(raw, []byte(statusKey)) { // most updates are of something else
		return nil
	}
	var u struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(raw, &u) != nil || u.Key != statusKey {
		return nil
	}
	var s string
	if json.Unmarshal(u.Value, &s) != nil {
		return nil
	}
	return &s
}
