package llm

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/rawjson"
)

// Texts that Normalize inserts into incomplete histories.
const (
	notRun       = "This tool call was not run: the conversation went on before it had a result."
	historyStart = "(The earlier part of the conversation is not shown.)"
	maxName      = 64 // bytes of a tool name, the smallest limit among providers
)

// Normalize returns a history that every provider accepts. Crashes, forks,
// condensation or a change of the model may have left it incomplete:
//
//   - every tool call is answered exactly once, directly after its message and
//     in the order of the calls; a missing result is replaced by a note that
//     the call was not run; results without a call are dropped, and of two
//     results of one call the first stays;
//   - ids of calls are present and unique in the whole history, names have only
//     characters that providers take;
//   - empty messages are dropped;
//   - the first message that is not a system message is the user's.
//
// The input is not changed. It is returned itself if it is already normalized,
// so callers must not change the result. Normalizing twice changes nothing.
func Normalize(msgs []event.Message) []event.Message {
	if isNormalized(msgs) {
		return msgs
	}
	n := normalizing{open: map[string][]*pendingCall{}, used: map[string]bool{}}
	for i := range msgs {
		n.add(&msgs[i])
	}
	return n.emit()
}

// pendingCall is a call that waits for its result.
type pendingCall struct {
	id     string // as it will be sent
	name   string
	result *event.Message
}

// turn is a message that stays, with its calls.
type turn struct {
	msg   event.Message
	calls []*pendingCall
}

type normalizing struct {
	turns []turn
	open  map[string][]*pendingCall // by the id in the input: the latest message's calls
	used  map[string]bool
}

func (n *normalizing) add(m *event.Message) {
	if m.Role == event.RoleTool {
		for _, s := range n.open[m.ToolCallID] {
			if s.result == nil {
				s.result = m
				return
			}
		}
		return
	}
	if m.Role != event.RoleAssistant {
		if hasContent(m.Content) {
			t := turn{msg: *m}
			if m.Role != event.RoleSystem {
				t.msg.Role = event.RoleUser
			}
			t.msg.ToolCalls, t.msg.ToolCallID = nil, ""
			n.turns = append(n.turns, t)
		}
		return
	}
	if !hasContent(m.Content) && len(m.ToolCalls) == 0 {
		return
	}
	t := turn{msg: *m}
	t.msg.ToolCallID = ""
	t.msg.ToolCalls = make([]event.ToolCall, len(m.ToolCalls))
	for _, c := range m.ToolCalls {
		delete(n.open, c.ID)
	}
	for i, c := range m.ToolCalls {
		s := &pendingCall{id: n.unique(c.ID), name: cleanName(c.Name)}
		n.open[c.ID] = append(n.open[c.ID], s)
		c.ID, c.Name = s.id, s.name
		t.msg.ToolCalls[i] = c
		t.calls = append(t.calls, s)
	}
	n.turns = append(n.turns, t)
}

// unique returns id, or a variant of it that no call before it had.
func (n *normalizing) unique(id string) string {
	base := id
	base = cmp.Or(base, "call")
	try := base
	for k := 2; try == "call" || n.used[try]; k++ {
		try = base + "_" + strconv.Itoa(k)
	}
	n.used[try] = true
	return try
}

func (n *normalizing) emit() []event.Message {
	out := make([]event.Message, 0, len(n.turns)+8)
	begun := false
	for i := range n.turns {
		t := &n.turns[i]
		if t.msg.Role != event.RoleSystem && !begun {
			begun = true
			if t.msg.Role == event.RoleAssistant {
				out = append(out, event.Message{Role: event.RoleUser, Content: event.Texts(historyStart)})
			}
		}
		if len(t.msg.ToolCalls) == 0 {
			t.msg.ToolCalls = nil
		}
		out = append(out, t.msg)
		for _, s := range t.calls {
			out = append(out, s.answer())
		}
	}
	return out
}

func (s *pendingCall) answer() event.Message {
	if s.result == nil {
		return event.Message{Role: event.RoleTool, ToolCallID: s.id, Name: s.name, Content: event.Texts(notRun)}
	}
	m := *s.result
	m.ToolCallID, m.Name, m.ToolCalls = s.id, s.name, nil
	return m
}

// hasContent reports whether a provider would take the blocks as content.
func hasContent(blocks []event.Content) bool {
	for _, c := range blocks {
		switch c.Type {
		case event.TypeText:
			if strings.TrimSpace(c.Text) != "" {
				return true
			}
		case event.TypeImage:
			if len(c.ImageURLs) > 0 {
				return true
			}
		}
	}
	return false
}

// cleanName returns a tool name of letters, digits, _ and -. Providers refuse a
// whole history for a name that a model invented.
func cleanName(name string) string {
	if isCleanName(name) {
		return name
	}
	if name == "" {
		return "unnamed"
	}
	b := []byte(name[:min(len(name), maxName)])
	for i := range b {
		if !isNameByte(b[i]) {
			b[i] = '_'
		}
	}
	return string(b)
}

func isCleanName(name string) bool {
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// ArgumentsObject returns the arguments of a past call as a JSON object, which
// providers require: {} for empty text, and for any other text that is not an
// object one that contains the text, so that the model sees its own text. Halves of
// surrogate pairs, which providers refuse, are replaced.
func ArgumentsObject(arguments string) json.RawMessage {
	return json.RawMessage(ArgumentsText(arguments))
}

// ArgumentsText is ArgumentsObject as a string, mostly its unchanged input.
func ArgumentsText(arguments string) string {
	text := rawjson.WellFormed(strings.ToValidUTF8(strings.TrimSpace(arguments), "\uFFFD"))
	if text == "" {
		return "{}"
	}
	if text[0] == '{' && validJSON(text) {
		return text
	}
	b, err := json.Marshal(map[string]string{"malformed_arguments": arguments})
	if err != nil { // a map of strings always encodes
		return "{}"
	}
	return string(b)
}

// validJSON is json.Valid without a copy. Long text, which may be nested
// deeply, is left to the standard library, which limits the depth.
func validJSON(text string) bool {
	if len(text) > 64<<10 {
		return json.Valid([]byte(text))
	}
	return gjson.Valid(text)
}
