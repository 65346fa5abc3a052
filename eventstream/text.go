package eventstream

import (
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/event"
)

// KindMessage is the kind of the events that [Query.Body] finds.
const KindMessage = "MessageEvent"

// TextContains reports whether the text of an encoded message contains lower,
// which is in lower case: its content, its extended content and its reasoning
// (docs/openhands/sdk-wire.md section 4.1).
func TextContains(message json.RawMessage, lower string) bool {
	var m struct {
		LLMMessage struct {
			Content          []event.Content `json:"content"`
			ReasoningContent string          `json:"reasoning_content"`
		} `json:"llm_message"`
		ExtendedContent []event.Content `json:"extended_content"`
	}
	if json.Unmarshal(message, &m) != nil {
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
