package event

import "github.com/google/uuid"

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
