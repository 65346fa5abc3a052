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
	marks    int    // cache marks so far
	// thoughtless says that a turn with calls since the user's last words
	// begins without thinking.
	thoughtless bool
}

// write appends one message of a normalised history, as wirelog.Writer. Tool
// results come first in their turn, since Normalize puts them there.
func (m *Model) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	for i := range msg.Content {
		if marked(&msg.Content[i]) {
			w.marks++
		}
	}
	var room [4]block
	blocks := room[:0]
	if msg.Role == event.RoleSystem && !w.messages {
		dst, w = w.addSystem(dst, m.blocks(blocks, msg.Content))
		return dst, w, nil
	}
	role := "user"
	switch msg.Role {
	case event.RoleAssistant:
		role, blocks = "assistant", m.assistant(blocks, msg)
		w.thoughtless = w.thoughtless || len(msg.ToolCalls) > 0 && !thoughtful(blocks)
	case event.RoleTool:
		blocks = append(blocks, m.toolResult(msg))
	case event.RoleUser:
		blocks, w.thoughtless = m.blocks(blocks, msg.Content), false
	default: // a later system message has no other place
		blocks = m.blocks(blocks, msg.Content)
	}
	dst, w = w.add(dst, role, blocks)
	return dst, w, nil
}

// addSystem appends blocks of the system prompt, which holds texts only.
func (w written) addSystem(dst []byte, blocks []block) ([]byte, written) {
	for i := range blocks {
		if blocks[i].Type != "text" {
			continue
		}
		if w.system {
			dst = append(dst, ',')
		} else {
			dst, w.system = append(dst, `"system":[`...), true
		}
		dst = blocks[i].appendTo(dst)
	}
	return dst, w
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
	dst = append(append(append(dst, `{"type":"`...), b.Type...), '"')
	switch b.Type {
	case "text":
		dst = member(dst, `,"text":`, b.Text)
	case "image":
		if b.Source.URL != "" {
			dst = member(dst, `,"source":{"type":"url","url":`, b.Source.URL)
		} else {
			dst = member(dst, `,"source":{"type":"base64","media_type":`, b.Source.MediaType)
			dst = member(dst, `,"data":`, b.Source.Data)
		}
		dst = append(dst, '}')
	case "tool_use":
		dst = member(dst, `,"id":`, b.ID)
		dst = member(dst, `,"name":`, b.Name)
		dst = append(append(dst, `,"input":`...), b.Input...)
	case "tool_result":
		dst = member(dst, `,"tool_use_id":`, b.ID)
		if len(b.Content) > 0 {
			dst = append(dst, `,"content":[`...)
			dst = append(appendBlocks(dst, b.Content), ']')
		}
	case event.TypeThinking:
		dst = member(dst, `,"thinking":`, b.Thinking)
		dst = member(dst, `,"signature":`, b.Signature)
	case event.TypeRedacted:
		dst = member(dst, `,"data":`, b.Data)
	}
	if b.Mark {
		dst = append(dst, `,"cache_control":{"type":"ephemeral"}`...)
	}
	return append(dst, '}')
}

func member(dst []byte, name, value string) []byte {
	return wirelog.AppendString(append(dst, name...), value)
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
