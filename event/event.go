// Package event is the vocabulary of Deft: every event, content block, Action
// and Observation, with exactly the JSON of the OpenHands agent-server wire
// contract (shared/spec/sdk-wire.md and sdk-wire-1.58.md). There is no second
// internal model: what is stored, streamed, exported and sent to webhooks are
// the bytes that [Marshal] returns.
//
// # Usage
//
//	msg := event.NewUserMessage("fix the failing test")
//	raw, err := event.Marshal(msg)      // nulls left out, "kind" last
//	ev, err := event.Unmarshal(raw)     // *event.MessageEvent
//
// Events are pointers to structs that embed [Base]. Actions and Observations
// of other modules are made known with [RegisterAction] and
// [RegisterObservation]; see the package example. Kinds nobody registered
// decode to [Unknown], [UnknownAction] and [UnknownObservation], which keep
// their JSON verbatim and write it back unchanged.
//
// # Concurrency
//
// Registration happens in init functions or before the first Unmarshal. An
// event is immutable once it was appended to a stream and may then be shared
// between goroutines.
//
// # Failure
//
// Input that is not an event gives an error of kind fault.Invalid; nothing
// here panics on bad input. Unknown fields of known kinds are ignored by the
// decoder (the stored bytes still hold them).
package event

import (
	"time"

	"github.com/google/uuid"
)

// ID names an event: a lower-case dashed UUID (version 4), or [Root].
type ID string

// Root is the parent_id of an event that is explicitly a child of nothing
// while the stream is not empty.
const Root ID = "__root__"

// NewID returns a fresh random event id.
func NewID() ID { return ID(uuid.NewString()) }

// ConversationID names a conversation: a UUID in its dashed form.
type ConversationID string

// NewConversationID returns a fresh random conversation id.
func NewConversationID() ConversationID { return ConversationID(uuid.NewString()) }

// ParseConversationID accepts a UUID dashed or as 32 hex digits, in any case,
// and returns the dashed lower-case form. ok is false for anything else.
func ParseConversationID(s string) (id ConversationID, ok bool) {
	if len(s) != 32 && len(s) != 36 {
		return "", false
	}
	u, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return ConversationID(u.String()), true
}

// Hex returns the id without dashes, the form used in directory names,
// webhooks and page cursors.
func (c ConversationID) Hex() string {
	u, err := uuid.Parse(string(c))
	if err != nil {
		return string(c)
	}
	var b [32]byte
	const digits = "0123456789abcdef"
	for i, x := range u {
		b[2*i], b[2*i+1] = digits[x>>4], digits[x&15]
	}
	return string(b[:])
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

// Timestamp is the wire form of a time: local ISO 8601 without a zone, always
// with microseconds, so that comparing two as strings compares the times
// (sdk-wire.md section 0.5). A decoded timestamp is kept as it was written.
type Timestamp string

const timestampLayout = "2006-01-02T15:04:05.000000"

// At returns t as a Timestamp in the local zone.
func At(t time.Time) Timestamp { return Timestamp(t.Local().Format(timestampLayout)) }

// Now returns the current time as a Timestamp.
func Now() Timestamp { return At(time.Now()) }

// Time parses the timestamp; ok is false when it is not one. Timestamps with
// a zone or without a fraction, as other writers make them, are understood.
func (t Timestamp) Time() (at time.Time, ok bool) {
	at, err := time.ParseInLocation("2006-01-02T15:04:05.999999999", string(t), time.Local)
	if err != nil {
		at, err = time.Parse(time.RFC3339Nano, string(t))
	}
	return at, err == nil
}

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
	// ParentID is the event this one hangs on: the HEAD of the conversation
	// when it was appended, [Root], or empty for the first event and for
	// linear conversations of old writers.
	ParentID ID `json:"parent_id,omitempty"`
}

// Meta implements part of [Event].
func (b *Base) Meta() *Base { return b }

// NewBase returns a Base with a fresh id and the current time.
func NewBase(s Source) Base { return Base{ID: NewID(), Timestamp: Now(), Source: s} }

// MovesHead reports whether appending ev makes it the new HEAD. State updates
// are bookkeeping beside the tree and never do (sdk-wire-1.58.md section A).
func MovesHead(ev Event) bool {
	_, update := ev.(*ConversationStateUpdateEvent)
	return !update
}
