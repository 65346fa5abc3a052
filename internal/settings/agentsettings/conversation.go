package agentsettings

import (
	"github.com/deft-dev/deft/fault"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// ConversationVersion is the schema version of conversation settings.
const ConversationVersion = 1

// Conversation describes settings of new conversations.
var Conversation = spec.Reference("ConversationSettings", s.Object{After: func(m *s.Map) error {
	if m.Get("worktree_base") == "ref" && m.Get("worktree_base_ref") == nil {
		return fault.New(fault.Invalid, "Branching worktrees from a ref needs worktree_base_ref")
	}
	return nil
}})

// ValidateConversation returns conversation settings, those of older versions
// brought up to date.
func ValidateConversation(v any) (*s.Map, error) {
	m, err := migrate(v, "ConversationSettings", ConversationVersion, map[int]func(*s.Map){0: func(*s.Map) {}})
	if err != nil {
		return nil, err
	}
	return Conversation.Check(m, s.Reading{})
}
