package bedrock

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/claude"
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
		Text    pieces.Piece `json:"text"`
		ToolUse *struct {
			Input pieces.Piece `json:"input"`
		} `json:"toolUse"`
		Reasoning *struct {
			Text      pieces.Piece `json:"text"`
			Signature string       `json:"signature"`
			Redacted  string       `json:"redactedContent"`
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
		Text      pieces.Piece `json:"text"`
		Signature string       `json:"signature"`
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
	Text      pieces.Piece `json:"text"`
	ToolUse   *toolUse     `json:"toolUse"`
	Reasoning *reasoning   `json:"reasoningContent"`
}

// wireUsage counts cached tokens separately from other input.
type wireUsage struct {
	Input      int `json:"inputTokens"`
	Output     int `json:"outputTokens"`
	CacheRead  int `json:"cacheReadInputTokens"`
	CacheWrite int `json:"cacheWriteInputTokens"`
}

// accumulator assembles an answer.
type accumulator struct {
	claude.Blocks
	usage     llm.Usage
	usageSeen bool
}

func newAccumulator(onDelta func(llm.Delta)) *accumulator {
	return &accumulator{Blocks: claude.NewBlocks(onDelta)}
}

// block returns the block at an index. A block that is not a call begins with
// its first delta; one of another kind replaces it.
func (a *accumulator) block(index int, kind string) *claude.Block {
	if b := a.At(index); b != nil && b.Kind == kind {
		return b
	}
	return a.Open(index, kind)
}

// open begins a call.
func (a *accumulator) open(index int, u *toolUse) *claude.Block {
	return a.OpenCall(index, cmp.Or(u.ToolUseID, "tooluse"), u.Name)
}

// addDelta adds a delta to its block.
func (a *accumulator) addDelta(e *streamEvent) error {
	d := &e.Delta
	switch {
	case d.ToolUse != nil:
		g := a.At(e.Index)
		if g == nil || g.Kind != claude.Call {
			return errors.New("arguments without a call")
		}
		a.Add(g, d.ToolUse.Input)
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
	if a.Size > exchange.MaxAnswer {
		return exchange.ErrTooLarge
	}
	return nil
}

func (a *accumulator) addText(index int, p pieces.Piece) {
	if p != "" {
		a.Add(a.block(index, claude.Text), p)
	}
}

func (a *accumulator) addReasoning(index int, p pieces.Piece, signature string) {
	b := a.block(index, claude.Reason)
	a.Size += len(signature)
	b.Signature += signature
	a.Add(b, p)
}

func (a *accumulator) addRedacted(index int, data string) {
	a.Add(a.block(index, claude.Redacted), pieces.Piece(data))
}

// whole adds an answer that is one document.
func (a *accumulator) whole(w *wireAnswer) {
	a.Stop = w.StopReason
	a.count(w.Usage)
	for i := range w.Output.Message.Content {
		b := &w.Output.Message.Content[i]
		switch {
		case b.ToolUse != nil:
			a.AddInput(a.open(i, b.ToolUse), b.ToolUse.Input)
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

func (a *accumulator) response() *llm.Response {
	return a.Response(a.usage, "guardrail_intervened", "content_filtered")
}
