package anthropic

import (
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm/internal/wirelog"
)

// maxMarks is how many cache marks a request may hold.
const maxMarks = 4

// written is how far the history in a body is: the leading system messages
// stand apart, the others in turns that alternate.
type written struct {
	system   bool   // the array of the system's blocks is begun
	messages bool   // the array of messages is begun
	role     string // of the message whose blocks come last
}

// write appends one message of a normalised history, as wirelog.Writer. Tool
// results come first in their turn, since Normalize puts them there.
func (m *Model) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	if msg.Role == event.RoleSystem && !w.messages {
		for _, b := range m.blocks(msg.Content) {
			if b.Type != "text" { // a system prompt may hold nothing else
				continue
			}
			if w.system {
				dst = append(dst, ',')
			} else {
				dst, w.system = append(dst, `"system":[`...), true
			}
			dst = b.appendTo(dst)
		}
		return dst, w, nil
	}
	role, blocks := "user", []block(nil)
	switch msg.Role {
	case event.RoleAssistant:
		role, blocks = "assistant", m.assistant(msg)
	case event.RoleTool:
		blocks = []block{m.toolResult(msg)}
	default: // a later system message has no other place
		blocks = m.blocks(msg.Content)
	}
	dst, w = w.add(dst, role, blocks)
	return dst, w, nil
}

// add appends the blocks of a message.
func (w written) add(dst []byte, role string, blocks []block) ([]byte, written) {
	if len(blocks) == 0 {
		return dst, w
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
	return appendBlocks(dst, blocks), w
}

// finish closes what is open.
func (w written) finish(dst []byte) []byte {
	// Newer models refuse a history that ends with the assistant's words.
	if w.role == "assistant" {
		dst, w = w.add(dst, "user", []block{{Type: "text", Text: goOn}})
	}
	return append(dst, "]}]"...)
}

func appendBlocks(dst []byte, blocks []block) []byte {
	for i := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = blocks[i].appendTo(dst)
	}
	return dst
}

// appendTo appends the block's JSON. By hand, because a restarted server
// writes whole histories at once.
func (b *block) appendTo(dst []byte) []byte {
	text := func(field, value string) {
		dst = append(dst, `,"`+field+`":`...)
		dst = wirelog.AppendString(dst, value)
	}
	dst = append(dst, `{"type":"`+b.Type+`"`...)
	switch b.Type {
	case "text":
		text("text", b.Text)
	case "image":
		dst = append(dst, `,"source":{"type":`...)
		if b.Source.URL != "" {
			dst = append(dst, `"url"`...)
			text("url", b.Source.URL)
		} else {
			dst = append(dst, `"base64"`...)
			text("media_type", b.Source.MediaType)
			text("data", b.Source.Data)
		}
		dst = append(dst, '}')
	case "tool_use":
		text("id", b.ID)
		text("name", b.Name)
		dst = append(dst, `,"input":`...)
		dst = append(dst, b.Input...)
	case "tool_result":
		text("tool_use_id", b.ID)
		if len(b.Content) > 0 {
			dst = append(dst, `,"content":[`...)
			dst = append(appendBlocks(dst, b.Content), ']')
		}
	case event.TypeThinking:
		text("thinking", b.Thinking)
		text("signature", b.Signature)
	case event.TypeRedacted:
		text("data", b.Data)
	}
	if b.Mark {
		dst = append(dst, `,"cache_control":{"type":"ephemeral"}`...)
	}
	return append(dst, '}')
}

// limitMarks keeps the first cache mark, which holds the system prompt and the
// tools, and the last three, which are where the conversation grows. The input
// is not changed.
func limitMarks(msgs []event.Message) []event.Message {
	marks := 0
	for i := range msgs {
		for k := range msgs[i].Content {
			if marked(&msgs[i].Content[k]) {
				marks++
			}
		}
	}
	if marks <= maxMarks {
		return msgs
	}
	out := append([]event.Message(nil), msgs...)
	nth := 0
	for i := range out {
		content := append(event.List[event.Content](nil), out[i].Content...)
		for k := range content {
			if marked(&content[k]) {
				nth++
				content[k].CachePrompt = nth == 1 || nth > marks-(maxMarks-1)
			}
		}
		out[i].Content = content
	}
	return out
}

// marked reports whether a cache mark will stand at a block.
func marked(c *event.Content) bool {
	return c.CachePrompt && (c.Type == event.TypeText && strings.TrimSpace(c.Text) != "" || c.Type == event.TypeImage && len(c.ImageURLs) > 0)
}
