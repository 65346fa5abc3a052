package event

import "encoding/json"

// PauseEvent records that the user paused the run.
type PauseEvent struct{ Base }

// Kind implements [Event].
func (*PauseEvent) Kind() string { return "PauseEvent" }

// InterruptEvent records that the user interrupted the run.
type InterruptEvent struct{ Base }

// Kind implements [Event].
func (*InterruptEvent) Kind() string { return "InterruptEvent" }

// ConversationStateUpdateEvent carries one state field, or all of them under
// the key "full_state".
type ConversationStateUpdateEvent struct {
	Base
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Kind implements [Event].
func (*ConversationStateUpdateEvent) Kind() string { return "ConversationStateUpdateEvent" }

func init() {
	register[PauseEvent]()
	register[InterruptEvent]()
	register[ConversationStateUpdateEvent]()
}
