package sqlite

import (
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/event"
)

// inMessage reports whether the text of a message holds lower, which is in
// lower case: its content, what was added to it, and its reasoning
// (docs/openhands/sdk-wire.md section 4.1).
func inMessage(raw []byte, lower string) bool {
	var m struct {
		LLMMessage struct {
			Content          []event.Content `json:"content"`
			ReasoningContent string          `json:"reasoning_content"`
		} `json:"llm_message"`
		ExtendedContent []event.Content `json:"extended_content"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return false // a message that does not decode has no text
	}
	for _, text := range []string{
		event.JoinText(m.LLMMessage.Content), event.JoinText(m.ExtendedContent), m.LLMMessage.ReasoningContent,
	} {
		if strings.Contains(strings.ToLower(text), lower) {
			return true
		}
	}
	return false
}
