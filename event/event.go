package event

// Event is one entry of a conversation's stream.
type Event interface {
	// Kind is the wire discriminator, the class name of the reference
	// implementation, for example "MessageEvent".
	Kind() string
	// Meta returns the fields that every event has. The caller may change
	// them until the event is appended.
	Meta() *Base
}

// Base holds the fields that every event has.
type Base struct {
	ID        ID        `json:"id"`
	Timestamp Timestamp `json:"timestamp"`
	Source    Source    `json:"source"`
	// ParentID is the parent of this event: the HEAD of the conversation when
	// it was appended, [Root], or empty for the first event and for linear
	// conversations of old writers.
	ParentID ID `json:"parent_id,omitempty"`
}

// Meta implements part of [Event].
func (b *Base) Meta() *Base { return b }

// NewBase returns a Base with a fresh id and the current time.
func NewBase(s Source) Base { return Base{ID: NewID(), Timestamp: Now(), Source: s} }

// MovesHead reports whether appending ev makes it the new HEAD. State updates
// are not part of the tree and never do (docs/openhands/sdk-wire-1.58.md section A).
func MovesHead(ev Event) bool {
	_, update := ev.(*ConversationStateUpdateEvent)
	return !update
}

// Source says who made an event.
type Source string

// The sources of the wire contract.
const (
	SourceAgent       Source = "agent"
	SourceUser        Source = "user"
	SourceEnvironment Source = "environment"
	SourceHook        Source = "hook"
)
