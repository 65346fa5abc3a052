package bedrock

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// streamEvent is the payload of any event of ConverseStream, after
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.
type streamEvent struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse *toolUse `json:"toolUse"`
	} `json:"start"`
	Delta struct {
		Text    exchange.Piece `json:"text"`
		ToolUse *struct {
			Input exchange.Piece `json:"input"`
		} `json:"toolUse"`
		Reasoning *struct {
			Text      exchange.Piece `json:"text"`
			Signature string         `json:"signature"`
			Redacted  string         `json:"redactedContent"`
		} `json:"reasoningContent"`
	} `json:"delta"`
	StopReason string     `json:"stopReason"`
	Usage      *wireUsage `json:"usage"`
}

type toolUse struct {
	ToolUseID string          `json:"toolUseId"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// reasoning is a piece of reasoning; redacted reasoning is base64.
type reasoning struct {
	Text *struct {
		Text      exchange.Piece `json:"text"`
		Signature string         `json:"signature"`
	} `json:"reasoningText"`
	Redacted string `json:"redactedContent"`
}

// wireAnswer is a whole answer.
type wireAnswer struct {
	Output struct {
		Message struct {
			Content []answerBlock `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason string     `json:"stopReason"`
	Usage      *wireUsage `json:"usage"`
}

type answerBlock struct {
	Text      exchange.Piece `json:"text"`
	ToolUse   *toolUse       `json:"toolUse"`
	Reasoning *reasoning     `json:"reasoningContent"`
}

// wireUsage counts cached tokens separately from other input.
type wireUsage struct {
	Input      int `json:"inputTokens"`
	Output     int `json:"outputTokens"`
	CacheRead  int `json:"cacheReadInputTokens"`
	CacheWrite int `json:"cacheWriteInputTokens"`
}

// Kinds of blocks.
const (
	kindText      = "text"
	kindReasoning = "reasoning"
	kindHidden    = "hidden"
	kindCall      = "call"
)

// openBlock is a content block that is not complete.
type openBlock struct {
	kind      string
	text      exchange.Text // text, reasoning, redacted bytes or arguments
	signature string
	id, name  string
	call      int // position among the calls
}

// accumulator assembles an answer, in time linear in its size, and delivers its
// pieces.
type accumulator struct {
	exchange.Deltas

	id, model, stop string
	blocks          []*openBlock
	byIndex         map[int]*openBlock
	ids             exchange.CallIDs
	calls           int
	usage           llm.Usage
	usageSeen       bool
	size            int
}

func newAccumulator(onDelta func(llm.Delta)) *accumulator {
	return &accumulator{Deltas: exchange.To(onDelta), byIndex: map[int]*openBlock{}}
}

// block returns the block at an index. A block that is not a call begins with
// its first delta; one of another kind replaces it.
func (a *accumulator) block(index int, kind string) *openBlock {
	if g := a.byIndex[index]; g != nil && g.kind == kind {
		return g
	}
	g := &openBlock{kind: kind}
	a.size += 128
	a.blocks = append(a.blocks, g)
	a.byIndex[index] = g
	return g
}

// open begins a call.
func (a *accumulator) open(index int, u *toolUse) {
	delete(a.byIndex, index)
	g := a.block(index, kindCall)
	g.id, g.name, g.call = a.ids.Unique(cmp.Or(u.ToolUseID, "tooluse")), u.Name, a.calls
	a.calls++
	a.Emit(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: g.call, ID: g.id, Name: g.name}})
}

// addDelta adds a delta to its block.
func (a *accumulator) addDelta(e *streamEvent) error {
	d := &e.Delta
	switch {
	case d.ToolUse != nil:
		g := a.byIndex[e.Index]
		if g == nil || g.kind != kindCall {
			return errors.New("arguments without a call")
		}
		a.addArguments(g, d.ToolUse.Input)
	case d.Reasoning != nil:
		r := d.Reasoning
		if r.Redacted != "" {
			a.addRedacted(e.Index, r.Redacted)
		}
		if r.Text != "" || r.Signature != "" {
			a.addReasoning(e.Index, r.Text, r.Signature)
		}
	default:
		a.addText(e.Index, d.Text)
	}
	if a.size > exchange.MaxAnswer {
		return exchange.ErrTooLarge
	}
	return nil
}

func (a *accumulator) addText(index int, p exchange.Piece) {
	if p == "" {
		return
	}
	a.size += len(p)
	if s := a.block(index, kindText).text.Add(string(p)); s != "" {
		a.Emit(llm.Delta{Text: s})
	}
}

func (a *accumulator) addReasoning(index int, p exchange.Piece, signature string) {
	a.size += len(p) + len(signature)
	g := a.block(index, kindReasoning)
	g.signature += signature
	if s := g.text.Add(string(p)); s != "" {
		a.Emit(llm.Delta{Reasoning: s})
	}
}

func (a *accumulator) addRedacted(index int, data string) {
	a.size += len(data)
	a.block(index, kindHidden).text.Add(data)
}

func (a *accumulator) addArguments(g *openBlock, p exchange.Piece) {
	a.size += len(p)
	if s := g.text.Add(string(p)); s != "" {
		a.Emit(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: g.call, Arguments: s}})
	}
}

// whole adds an answer that is one document.
func (a *accumulator) whole(w *wireAnswer) {
	a.stop = w.StopReason
	a.count(w.Usage)
	for i := range w.Output.Message.Content {
		b := &w.Output.Message.Content[i]
		switch {
		case b.ToolUse != nil:
			a.open(i, b.ToolUse)
			if in := exchange.Piece(b.ToolUse.Input); in != "{}" && in != "null" {
				a.addArguments(a.byIndex[i], in)
			}
		case b.Reasoning != nil && b.Reasoning.Text != nil:
			a.addReasoning(i, b.Reasoning.Text.Text, b.Reasoning.Text.Signature)
		case b.Reasoning != nil:
			a.addRedacted(i, b.Reasoning.Redacted)
		default:
			a.addText(i, b.Text)
		}
	}
}

func (a *accumulator) count(u *wireUsage) {
	if u == nil {
		return
	}
	a.usageSeen = true
	read, write := max(u.CacheRead, 0), max(u.CacheWrite, 0)
	a.usage = llm.Usage{Prompt: max(u.Input, 0) + read + write, Output: max(u.Output, 0), CacheRead: read, CacheWrite: write}
}

// empty reports whether the answer has no content.
func (a *accumulator) empty() bool {
	for _, g := range a.blocks {
		if g.kind != kindText || strings.TrimSpace(g.text.String()) != "" {
			return false
		}
	}
	return true
}

func (a *accumulator) response() *llm.Response {
	msg := event.Message{Role: event.RoleAssistant}
	var reasoningText strings.Builder
	for _, g := range a.blocks {
		text := g.text.String()
		switch g.kind {
		case kindText:
			msg.Content = append(msg.Content, event.Texts(text)...)
		case kindReasoning:
			reasoningText.WriteString(text)
			msg.ThinkingBlocks = append(msg.ThinkingBlocks, event.ThinkingBlock{Type: event.TypeThinking, Thinking: text, Signature: g.signature})
		case kindHidden:
			msg.ThinkingBlocks = append(msg.ThinkingBlocks, event.ThinkingBlock{Type: event.TypeRedacted, Data: text})
		case kindCall:
			if strings.TrimSpace(text) == "" {
				text = "{}"
			}
			msg.ToolCalls = append(msg.ToolCalls, event.ToolCall{ID: g.id, Name: g.name, Arguments: text, Origin: event.OriginCompletion})
		}
	}
	msg.ReasoningContent = reasoningText.String()
	return &llm.Response{ID: a.id, Model: a.model, Message: msg, Finish: a.finished(), Usage: a.usage}
}

func (a *accumulator) finished() llm.Finish {
	switch a.stop {
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "guardrail_intervened", "content_filtered":
		return llm.FinishContent
	}
	if a.calls > 0 || a.stop == "tool_use" {
		return llm.FinishTools
	}
	return llm.FinishStop
}
