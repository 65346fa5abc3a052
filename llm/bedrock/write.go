package bedrock

import (
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// maxMarks is the maximum number of cache points in a request.
const maxMarks = 4

// form is Converse's form of histories.
var form = &historycache.Form{System: `"system":[`, EndSystem: "],", Turns: `"messages":[`, Blocks: "content"}

// written is the position in the history of a body.
type written struct {
	historycache.Turns
	marks  int  // cache marks so far
	tokens int  // of all messages, estimated
	calls  bool // the history has a call
	// missingThinking: a turn with calls since the last user message begins
	// without thinking.
	missingThinking bool
}

// write appends one message of a normalized history, as historycache.Writer.
// Tool results come first in their turn: Normalize puts them there.
func (m *Model) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	w.tokens += llm.EstimateMessage(msg)
	w.calls = w.calls || len(msg.ToolCalls) > 0
	for i := range msg.Content {
		if marked(&msg.Content[i]) {
			w.marks++
		}
	}
	var room [4]block
	role, blocks := "user", room[:0]
	switch {
	case msg.Role == event.RoleSystem && !w.Begun:
		dst, w = w.addSystem(dst, m.blocks(blocks, msg.Content))
		return dst, w, nil
	case msg.Role == event.RoleAssistant:
		role, blocks = "assistant", m.assistant(blocks, msg)
		w.missingThinking = w.missingThinking || len(msg.ToolCalls) > 0 && !hasThinking(blocks)
	case msg.Role == event.RoleTool:
		blocks = m.result(blocks, msg)
	default: // including later system messages
		w.missingThinking = w.missingThinking && msg.Role != event.RoleUser
		blocks = m.blocks(blocks, msg.Content)
	}
	dst, w = w.add(dst, role, blocks)
	return dst, w, nil
}

// addSystem appends blocks of the system prompt, without images.
func (w written) addSystem(dst []byte, blocks []block) ([]byte, written) {
	for i := range blocks {
		if blocks[i].Kind == imageBlock {
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
	if w.Role == "assistant" { // newer models refuse a history that ends with an assistant message
		dst, _ = w.add(dst, "user", []block{{Text: goOn}})
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
	switch b.Kind {
	case imageBlock:
		dst = historycache.AppendMember(dst, `{"image":{"format":`, b.Format)
		return append(historycache.AppendMember(dst, `,"source":{"bytes":`, b.Data), "}}}"...)
	case useBlock:
		dst = historycache.AppendMember(dst, `{"toolUse":{"toolUseId":`, b.ID)
		dst = historycache.AppendMember(dst, `,"name":`, b.Name)
		return append(append(append(dst, `,"input":`...), b.Input...), "}}"...)
	case resultBlock:
		dst = append(historycache.AppendMember(dst, `{"toolResult":{"toolUseId":`, b.ID), `,"content":[`...)
		return append(appendBlocks(dst, b.Content), "]}}"...)
	case reasoningBlock:
		dst = historycache.AppendMember(dst, `{"reasoningContent":{"reasoningText":{"text":`, b.Text)
		return append(historycache.AppendMember(dst, `,"signature":`, b.Data), "}}}"...)
	case redactedBlock:
		return append(historycache.AppendMember(dst, `{"reasoningContent":{"redactedContent":`, b.Data), "}}"...)
	case cacheBlock:
		return append(dst, `{"cachePoint":{"type":"default"}}`...)
	}
	return append(historycache.AppendMember(dst, `{"text":`, b.Text), '}')
}

// marked reports whether a block has a cache mark.
func marked(c *event.Content) bool { return c.CachePrompt }
