package sqlite

import "encoding/json"

const (
	kindStateUpdate = "ConversationStateUpdateEvent"
	kindMessage     = "MessageEvent"
)

// statusOf returns the value of an execution_status update, or nil for the
// update of anything else.
func statusOf(raw []byte) *string {
	var u struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(raw, &u) != nil || u.Key != "execution_status" {
		return nil
	}
	var s string
	if json.Unmarshal(u.Value, &s) != nil {
		return nil
	}
	return &s
}
