package bedrock

import (
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm/internal/wirelog"
)

// maxMarks is how many cache points a request may hold.
const maxMarks = 4

// written is how far the history in a body is: the leading system messages
// stand apart, the others in turns that alternate.
type written struct {
	system   bool   // the array of the system's blocks is begun
	messages bool   // the array of messages is begun
	role     string // of the turn whose blocks come last
}

// write appends one message of a normalised history, as wirelog.Writer. Tool
// results come first in their turn, since Normalize puts them there.
func (m *Model) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	switch {
	case msg.Role == event.RoleSystem && !w.messages:
		return m.writeSystem(dst, w, msg)
	case msg.Role == event.RoleAssistant:
		return w.add(dst, "assistant", m.assistant(msg))
	case msg.Role == event.RoleTool:
		return w.add(dst, "user", m.result(msg))
	}
	// A later system message has no other place.
	return w.add(dst, "user", m.blocks(msg.Content))
}

func (m *Model) writeSystem(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	var err error
	for _, b := range m.blocks(msg.Content) {
		if b.Image != nil { // a system prompt may hold none
			continue
		}
		if w.system {
			dst = append(dst, ',')
		} else {
			dst, w.system = append(dst, `"system":[`...), true
		}
		if dst, err = wirelog.AppendJSON(dst, &b); err != nil {
			return dst, w, err
		}
	}
	return dst, w, nil
}

// add appends the blocks of a message.
func (w written) add(dst []byte, role string, blocks []block) ([]byte, written, error) {
	if len(blocks) == 0 {
		return dst, w, nil
	}
	if !w.messages {
		if w.system {
			dst = append(dst, "],"...)
		}
		dst, w.messages = append(dst, `"messages":[`...), true
	}
	switch w.role {
	case role:
		dst = append(dst, ',')
	case "":
		dst = append(dst, `{"role":"`+role+`","content":[`...)
	default:
		dst = append(dst, `]},{"role":"`+role+`","content":[`...)
	}
	w.role = role
	var err error
	for i := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = wirelog.AppendJSON(dst, &blocks[i]); err != nil {
			return dst, w, err
		}
	}
	return dst, w, nil
}

// finish closes what is open.
func (w written) finish(dst []byte) ([]byte, error) {
	var err error
	if w.role == "assistant" { // newer models refuse to go on with their own words
		dst, _, err = w.add(dst, "user", []block{{Text: goOn}})
	}
	return append(dst, "]}]"...), err
}

// limitMarks keeps the first cache mark, which holds the system prompt and the
// tools, and the last three, which are where the conversation grows. The input
// is not changed.
func limitMarks(msgs []event.Message) []event.Message {
	marks := 0
	for i := range msgs {
		for k := range msgs[i].Content {
			if msgs[i].Content[k].CachePrompt {
				marks++
			}
		}
	}
	if marks <= maxMarks {
		return msgs
	}
	out, seen := slices.Clone(msgs), 0
	for i := range out {
		cloned := false
		for k := range out[i].Content {
			if !out[i].Content[k].CachePrompt {
				continue
			}
			seen++
			if seen == 1 || seen > marks-(maxMarks-1) {
				continue
			}
			if !cloned {
				out[i].Content, cloned = slices.Clone(out[i].Content), true
			}
			out[i].Content[k].CachePrompt = false
		}
	}
	return out
}
