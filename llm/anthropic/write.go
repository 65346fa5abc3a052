package anthropic

import (
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// maxMarks is the maximum number of cache marks in a request.
const maxMarks = 4

// form is the Messages API's form of histories.
var form = &historycache.Form{System: `"system":[`, EndSystem: "],", Turns: `"messages":[`, Blocks: "content"}

// written is the position in the history of a body.
type written struct {
	historycache.Turns
	marks int // cache marks so far
	// missingThinking: a turn with calls since the last user message begins
	// without thinking.
	missingThinking bool
}

// write appends one message of a normalized history, as historycache.Writer.
// Tool results come first in their turn: Normalize puts them there.
func (m *Model) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	for i := range msg.Content {
		if marked(&msg.Content[i]) {
			w.marks++
		}
	}
	var room [4]block
	blocks := room[:0]
	if msg.Role == event.RoleSystem && !w.Begun {
		dst, w = w.addSystem(dst, m.blocks(blocks, msg.Content))
		return dst, w, nil
	}
	role := "user"
	switch msg.Role {
	case event.RoleAssistant:
		role, blocks = "assistant", m.assistant(blocks, msg)
		w.missingThinking = w.missingThinking || len(msg.ToolCalls) > 0 && !hasThinking(blocks)
	case event.RoleTool:
		blocks = append(blocks, m.toolResult(msg))
	case event.RoleUser:
		blocks, w.missingThinking = m.blocks(blocks, msg.Content), false
	default: // including later system messages
		blocks = m.blocks(blocks, msg.Content)
	}
	dst, w = w.add(dst, role, blocks)
	return dst, w, nil
}

// addSystem appends blocks of the system prompt, which contains text only.
func (w written) addSystem(dst []byte, blocks []block) ([]byte, written) {
	for i := range blocks {
		if blocks[i].Type != "text" {
			continue
		}
		dst, w.Turns = w.BeginSystem(dst, form)
		dst = blocks[i].appendTo(dst)
	}
	return dst, w
}

// add appends the blocks of a message.
func (w written) add(dst []byte, role string, blocks []block) ([]byte, written) {
	if len(blocks) == 0 {
		return dst, w
	}
	dst, w.Turns = w.Begin(dst, form, role)
	return appendBlocks(dst, blocks), w
}

// finish closes the history.
func (w written) finish(dst []byte) []byte {
	// Newer models refuse a history that ends with an assistant message.
	if w.Role == "assistant" {
		dst, w = w.add(dst, "user", []block{{Type: "text", Text: goOn}})
	}
	return w.End(dst)
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

// appendTo appends the block's JSON without encoding/json, because a restarted
// server encodes whole histories at once.
func (b *block) appendTo(dst []byte) []byte {
	dst = append(append(append(dst, `{"type":"`...), b.Type...), '"')
	switch b.Type {
	case "text":
		dst = historycache.AppendMember(dst, `,"text":`, b.Text)
	case "image":
		if b.Source.URL != "" {
			dst = historycache.AppendMember(dst, `,"source":{"type":"url","url":`, b.Source.URL)
		} else {
			dst = historycache.AppendMember(dst, `,"source":{"type":"base64","media_type":`, b.Source.MediaType)
			dst = historycache.AppendMember(dst, `,"data":`, b.Source.Data)
		}
		dst = append(dst, '}')
	case "tool_use":
		dst = historycache.AppendMember(dst, `,"id":`, b.ID)
		dst = historycache.AppendMember(dst, `,"name":`, b.Name)
		dst = append(append(dst, `,"input":`...), b.Input...)
	case "tool_result":
		dst = historycache.AppendMember(dst, `,"tool_use_id":`, b.ID)
		if len(b.Content) > 0 {
			dst = append(dst, `,"content":[`...)
			dst = append(appendBlocks(dst, b.Content), ']')
		}
	case event.TypeThinking:
		dst = historycache.AppendMember(dst, `,"thinking":`, b.Thinking)
		dst = historycache.AppendMember(dst, `,"signature":`, b.Signature)
	case event.TypeRedacted:
		dst = historycache.AppendMember(dst, `,"data":`, b.Data)
	}
	if b.Mark {
		dst = append(dst, `,"cache_control":{"type":"ephemeral"}`...)
	}
	return append(dst, '}')
}

// marked reports whether a block will have a cache mark.
func marked(c *event.Content) bool {
	return c.CachePrompt && (c.Type == event.TypeText && strings.TrimSpace(c.Text) != "" || c.Type == event.TypeImage && len(c.ImageURLs) > 0)
}
