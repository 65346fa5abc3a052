package openai

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// Chat Completions have no form for reasoning that must be sent back unchanged.
// Two are in use: Anthropic's blocks, which a LiteLLM proxy passes on as
// thinking_blocks, and the reasoning_details of OpenRouter
// (https://openrouter.ai/docs/use-cases/reasoning-tokens) and MiniMax. Both are
// stored as event.ThinkingBlocks. A detail that is more than text with a
// signature is stored as its JSON, in the Data of a redacted block.

// The types of reasoning_details.
const (
	detailText      = "reasoning.text"
	detailEncrypted = "reasoning.encrypted"
)

// notRecorded replaces the reasoning of a turn of another model.
const notRecorded = "(The reasoning of this turn was not recorded.)"

// signedReasoning assembles such reasoning from pieces.
type signedReasoning struct {
	thinking []*thinkingBlock
	details  []*detail
	size     int
	counted  int // of size, by grown
}

type thinkingBlock struct {
	data, signature string
	text            pieces.Text
	closed          bool
}

// detail is an entry of reasoning_details whose text comes in pieces.
type detail struct {
	kind, index string
	field       string // that grows: "text", "summary" or "" for none
	text        pieces.Text
	fields      map[string]json.RawMessage
}

// add adds the reasoning of a piece of an answer, and returns its text.
func (s *signedReasoning) add(d *answer) string {
	if len(d.Thinking) == 0 && len(d.Details) == 0 {
		return ""
	}
	var text strings.Builder
	for i := range d.Thinking {
		s.addThinking(&d.Thinking[i])
		text.WriteString(string(d.Thinking[i].Thinking))
	}
	if len(d.Details) > 0 {
		text.Reset() // a server that sends both repeats itself
	}
	for _, raw := range d.Details {
		text.WriteString(s.addDetail(raw))
	}
	return text.String()
}

// added returns how much was added since the previous call.
func (s *signedReasoning) added() int {
	n := s.size - s.counted
	s.counted = s.size
	return n
}

func (s *signedReasoning) addThinking(p *thinkingPiece) {
	s.size += len(p.Thinking) + len(p.Signature) + len(p.Data)
	if p.Type == event.TypeRedacted {
		s.size += 64
		s.thinking = append(s.thinking, &thinkingBlock{data: p.Data, closed: true})
		return
	}
	var b *thinkingBlock
	if n := len(s.thinking); n > 0 && !s.thinking[n-1].closed {
		b = s.thinking[n-1]
	} else {
		s.size += 64
		b = &thinkingBlock{}
		s.thinking = append(s.thinking, b)
	}
	b.text.Add(string(p.Thinking))
	if p.Signature != "" { // it ends the block
		b.signature, b.closed = p.Signature, true
	}
}

func (s *signedReasoning) addDetail(raw json.RawMessage) string {
	in := gjson.ParseBytes(raw)
	if !in.IsObject() {
		return ""
	}
	kind, index := in.Get("type").String(), in.Get("index").Raw
	field := ""
	switch kind {
	case detailText:
		field = "text"
	case "reasoning.summary":
		field = "summary"
	}
	var d *detail
	if n := len(s.details); n > 0 && field != "" && s.details[n-1].kind == kind && s.details[n-1].index == index {
		d = s.details[n-1]
	} else {
		d = &detail{kind: kind, index: index, field: field, fields: map[string]json.RawMessage{}}
		s.details = append(s.details, d)
		s.size += 256
	}
	piece := ""
	in.ForEach(func(key, value gjson.Result) bool {
		switch {
		case key.Str == field && field != "":
			piece = text(value)
			d.text.Add(piece)
		case value.Type == gjson.Null && d.fields[key.Str] != nil:
		default:
			d.fields[key.Str] = json.RawMessage(value.Raw)
			s.size += len(value.Raw)
		}
		return true
	})
	s.size += len(piece)
	return piece
}

// text returns a string with the halves of characters.
func text(v gjson.Result) string {
	var p pieces.Piece
	if v.Type != gjson.String || p.UnmarshalJSON([]byte(v.Raw)) != nil {
		return v.String()
	}
	return string(p)
}

// blocks returns the blocks to send back.
func (s *signedReasoning) blocks() event.List[event.ThinkingBlock] {
	var out event.List[event.ThinkingBlock]
	for _, b := range s.thinking {
		switch {
		case b.data != "":
			out = append(out, event.ThinkingBlock{Type: event.TypeRedacted, Data: b.data})
		case b.signature != "":
			out = append(out, event.ThinkingBlock{Type: event.TypeThinking, Thinking: b.text.String(), Signature: b.signature})
		}
	}
	if len(out) > 0 {
		return out
	}
	secret, plain := false, true
	for _, d := range s.details {
		secret = secret || d.kind == detailEncrypted || d.signature() != ""
		plain = plain && d.kind == detailText
	}
	if !secret {
		return nil // the text is enough
	}
	for _, d := range s.details {
		if sig := d.signature(); plain && sig != "" {
			out = append(out, event.ThinkingBlock{Type: event.TypeThinking, Thinking: d.text.String(), Signature: sig})
		} else if !plain {
			out = append(out, event.ThinkingBlock{Type: event.TypeRedacted, Data: d.json()})
		}
	}
	return out
}

func (d *detail) signature() string { return gjson.ParseBytes(d.fields["signature"]).String() }

func (d *detail) json() string {
	if d.field != "" {
		d.fields[d.field] = historycache.AppendString(nil, d.text.String())
	}
	b, err := json.Marshal(d.fields)
	if err != nil { // every field was JSON
		return "{}"
	}
	return string(b)
}

// isDetail reports whether a block holds an entry of reasoning_details.
func isDetail(b *event.ThinkingBlock) bool {
	return b.Type == event.TypeRedacted && strings.HasPrefix(b.Data, "{") && json.Valid([]byte(b.Data))
}

// isForeign reports whether a block was not signed by Anthropic, whose
// signatures and data are base64; other adapters add a prefix.
func isForeign(b *event.ThinkingBlock) bool { return strings.ContainsAny(b.Signature+b.Data, ":{") }

// reasoningMembers returns the members of an assistant message that send its
// reasoning back, as JSON with a leading comma, or "".
func (m *Model) reasoningMembers(msg *event.Message) string {
	must := m.info.MustEcho
	var out []byte
	switch m.quirks.ReasoningField {
	case llm.ReasoningDetails:
		if out = m.details(msg); len(out) == 0 && must.ReasoningContent && msg.ReasoningContent != "" && m.quirks.SplitReasoning {
			out = historycache.AppendString([]byte(`,"reasoning_details":[{"type":"reasoning.text","text":`), msg.ReasoningContent)
			out = append(out, `}]`...)
		} else if len(out) == 0 && must.ReasoningContent && msg.ReasoningContent != "" {
			out = historycache.AppendString([]byte(`,"reasoning":`), msg.ReasoningContent)
		}
	case llm.ReasoningPlain, llm.ReasoningBoth:
		if !must.ReasoningContent || msg.ReasoningContent == "" {
			break
		}
		out = historycache.AppendString([]byte(`,"reasoning":`), msg.ReasoningContent)
		if m.quirks.ReasoningField == llm.ReasoningBoth {
			out = historycache.AppendString(append(out, `,"reasoning_content":`...), msg.ReasoningContent)
		}
	default:
		if m.quirks.ReasoningField == llm.ReasoningBlocks && must.ThinkingBlocks {
			out = thinkingBlocks(msg)
		}
		text := msg.ReasoningContent
		if text == "" && len(msg.ToolCalls) > 0 {
			text = notRecorded // thinking models refuse a turn with calls but no reasoning
		}
		if must.ReasoningContent && text != "" {
			out = historycache.AppendString(append(out, `,"reasoning_content":`...), text)
		}
	}
	return string(out)
}

// details writes reasoning_details.
func (m *Model) details(msg *event.Message) []byte {
	var out []byte
	for i := range msg.ThinkingBlocks {
		b := &msg.ThinkingBlocks[i]
		var one []byte
		switch {
		case isDetail(b):
			one = rawjson.WellFormed([]byte(b.Data))
		case !m.info.MustEcho.ThinkingBlocks || isForeign(b):
			continue // signed by another model
		case b.Type == event.TypeRedacted:
			one = append(historycache.AppendString([]byte(`{"type":"reasoning.encrypted","data":`), b.Data), `,"format":"anthropic-claude-v1"}`...)
		case b.Signature != "":
			one = historycache.AppendString([]byte(`{"type":"reasoning.text","text":`), b.Thinking)
			one = append(historycache.AppendString(append(one, `,"signature":`...), b.Signature), `,"format":"anthropic-claude-v1"}`...)
		default:
			continue
		}
		out = appendMember(out, `,"reasoning_details":[`, one)
	}
	return closeList(out)
}

// thinkingBlocks writes thinking_blocks, without unsigned blocks, which
// Anthropic refuses.
func thinkingBlocks(msg *event.Message) []byte {
	var out []byte
	for i := range msg.ThinkingBlocks {
		b := &msg.ThinkingBlocks[i]
		if b.Type == event.TypeRedacted && b.Data == "" || b.Type != event.TypeRedacted && b.Signature == "" || isForeign(b) {
			continue
		}
		one, err := b.AppendJSON(nil)
		if err != nil {
			continue // strings always encode
		}
		out = appendMember(out, `,"thinking_blocks":[`, one)
	}
	return closeList(out)
}

func appendMember(out []byte, open string, one []byte) []byte {
	if len(out) == 0 {
		out = append(out, open...)
	} else {
		out = append(out, ',')
	}
	return append(out, one...)
}

func closeList(out []byte) []byte {
	if len(out) == 0 {
		return nil
	}
	return append(out, ']')
}
