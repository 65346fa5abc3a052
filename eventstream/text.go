package eventstream

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
)

// KindMessage is the kind of the events that [Query.Body] finds.
const KindMessage = "MessageEvent"

// ShownKinds are the kinds of the events that [Query.Text] finds.
var ShownKinds = []string{
	KindMessage, "ActionEvent", "ObservationEvent", "UserRejectObservation", "AgentErrorEvent", "ConversationErrorEvent", "Condensation", "HookExecutionEvent",
}

// SelectedKinds returns the kinds that a query selects, nil for all; none is true if it
// can select no event.
func (q Query) SelectedKinds() (kinds []string, none bool) {
	kinds = q.Kinds
	only := func(these []string) {
		if len(kinds) == 0 && !none {
			kinds = these
			return
		}
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return !slices.Contains(these, k) })
		none = len(kinds) == 0
	}
	if q.Body != "" {
		only([]string{KindMessage})
	}
	if q.Text != "" {
		only(ShownKinds)
	}
	return kinds, none
}

// Finder returns a function that reports whether an encoded event of a selected kind
// has the texts of a query, nil if the query has no texts.
func (q Query) Finder() func(json.RawMessage) bool {
	body, text := strings.ToLower(q.Body), strings.ToLower(q.Text)
	switch {
	case body == "" && text == "":
		return nil
	case text == "":
		return func(raw json.RawMessage) bool { return TextContains(raw, body) }
	}
	plain := !strings.ContainsFunc(text, func(r rune) bool {
		return r != ' ' && r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
	return func(raw json.RawMessage) bool {
		// JSON has such a text as it is, and most events do not have it.
		if plain && !bytes.Contains(bytes.ToLower(raw), []byte(text)) {
			return false
		}
		return shows(raw, text) && (body == "" || TextContains(raw, body))
	}
}

// shownFields are the fields of events that people see.
var shownFields = []string{
	"llm_message", "extended_content", "thought", "reasoning_content", "summary", "action", "observation", "rejection_reason", "error",
	"code", "detail", "hook_command", "reason", "stdout", "stderr",
}

// shows reports whether the visible texts of an encoded event contain lower.
func shows(raw json.RawMessage, lower string) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return false
	}
	for _, name := range shownFields {
		var v any
		if one, ok := fields[name]; ok && json.Unmarshal(one, &v) == nil && anyContains(v, lower) {
			return true
		}
	}
	return false
}

func anyContains(v any, lower string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), lower)
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return anyContains(one, lower) })
	case map[string]any:
		for name, one := range v {
			if name != "kind" && name != "type" && name != "role" && name != "image_urls" && anyContains(one, lower) {
				return true
			}
		}
	}
	return false
}

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
