package openai

import (
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// written is the position in the history of a body. Tool messages cannot
// contain images, so the images of a turn's results follow in one user message.
type written struct {
	begun  bool
	images string // pending parts as JSON, joined by commas
	// missingThinking: a turn with calls since the last user message has no
	// thinking of Claude's.
	missingThinking bool
}

// write appends one message of a normalized history, as historycache.Writer.
func (m *Model) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	var out wireMessage
	switch msg.Role {
	case event.RoleTool:
		var images []part
		out, images = m.toolMessage(msg)
		for _, p := range images {
			b, err := historycache.AppendJSON(nil, p)
			if err != nil {
				return dst, w, err
			}
			if w.images != "" {
				w.images += ","
			}
			w.images += string(b)
		}
	case event.RoleAssistant:
		dst, w = w.flush(dst)
		out = m.assistant(msg)
		if m.quirks.ReasoningField == llm.ReasoningBlocks && len(msg.ToolCalls) > 0 && len(thinkingBlocks(msg)) == 0 {
			w.missingThinking = true
		}
	default:
		if msg.Role == event.RoleUser {
			w.missingThinking = false
		}
		dst, w = w.flush(dst)
		out = wireMessage{Role: string(msg.Role)}
		out.Text, out.Parts = m.content(msg.Content)
	}
	dst, w = w.next(dst)
	dst, err := m.appendMessage(dst, &out)
	return dst, w, err
}

// next begins a message.
func (w written) next(dst []byte) ([]byte, written) {
	if w.begun {
		return append(dst, ','), w
	}
	w.begun = true
	return append(dst, `"messages":[`...), w
}

// flush writes the pending images.
func (w written) flush(dst []byte) ([]byte, written) {
	if w.images == "" {
		return dst, w
	}
	dst, w = w.next(dst)
	dst = append(dst, `{"role":"user","content":[`...)
	dst = append(dst, w.images...)
	w.images = ""
	return append(dst, "]}"...), w
}

// finish closes everything open.
func (w written) finish(dst []byte) []byte {
	dst, _ = w.flush(dst)
	return append(dst, ']')
}

// appendMessage appends a message's JSON without encoding/json, because a
// restarted server encodes whole histories at once.
func (m *Model) appendMessage(dst []byte, w *wireMessage) ([]byte, error) {
	dst = append(append(append(dst, `{"role":"`...), w.Role...), `","content":`...)
	switch {
	case len(w.Parts) > 0:
		var err error
		if dst, err = historycache.AppendJSON(dst, w.Parts); err != nil {
			return dst, err
		}
	case w.Null:
		dst = append(dst, "null"...)
	default:
		dst = historycache.AppendString(dst, w.Text)
	}
	for i := range w.ToolCalls {
		c := &w.ToolCalls[i]
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = historycache.AppendString(append(dst, `{"id":`...), m.callID(c.ID))
		dst = historycache.AppendString(append(dst, `,"type":"function","function":{"name":`...), c.Name)
		dst = historycache.AppendString(append(dst, `,"arguments":`...), llm.ArgumentsText(c.Arguments))
		dst = append(dst, "}}"...)
	}
	if len(w.ToolCalls) > 0 {
		dst = append(dst, ']')
	}
	if w.ToolCallID != "" {
		dst = historycache.AppendString(append(dst, `,"tool_call_id":`...), w.ToolCallID)
	}
	dst = append(dst, w.Reasoning...)
	return append(dst, '}'), nil
}
