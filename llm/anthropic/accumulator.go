package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/claude"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// streamEvent is an event of a stream, after
// https://docs.anthropic.com/en/api/messages-streaming.
type streamEvent struct {
	Type         string       `json:"type"`
	Index        int          `json:"index"`
	Message      *wireAnswer  `json:"message"`
	ContentBlock *answerBlock `json:"content_block"`
	Delta        struct {
		Type        string       `json:"type"`
		Text        pieces.Piece `json:"text"`
		Thinking    pieces.Piece `json:"thinking"`
		Signature   string       `json:"signature"`
		PartialJSON pieces.Piece `json:"partial_json"`
		StopReason  string       `json:"stop_reason"`
	} `json:"delta"`
	Usage *wireUsage `json:"usage"`
}

// wireAnswer is a whole answer, or its beginning.
type wireAnswer struct {
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Content    []answerBlock   `json:"content"`
	StopReason string          `json:"stop_reason"`
	Usage      *wireUsage      `json:"usage"`
	Error      json.RawMessage `json:"error"`
}

type answerBlock struct {
	Type      string          `json:"type"`
	Text      pieces.Piece    `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  pieces.Piece    `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
}

// wireUsage counts cached tokens separately from other input. In a stream the
// numbers come in two events; a number that is missing keeps its value.
type wireUsage struct {
	InputTokens   *int `json:"input_tokens"`
	CacheCreation *int `json:"cache_creation_input_tokens"`
	CacheRead     *int `json:"cache_read_input_tokens"`
	OutputTokens  *int `json:"output_tokens"`
	OutputDetails *struct {
		ThinkingTokens int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// accumulator assembles an answer.
type accumulator struct {
	claude.Blocks
	usage     llm.Usage // Prompt without cached tokens
	usageSeen bool
}

func newAccumulator(onDelta func(llm.Delta)) *accumulator {
	return &accumulator{Blocks: claude.NewBlocks(onDelta)}
}

// begin adds the frame of an answer: message_start, or the whole document.
func (a *accumulator) begin(m *wireAnswer) {
	a.ID, a.Model, a.Stop = m.ID, m.Model, m.StopReason
	a.count(m.Usage)
}

// open begins a block, with the content in its first event.
func (a *accumulator) open(index int, b *answerBlock) {
	if b.Type == claude.Call {
		a.AddInput(a.OpenCall(index, cmp.Or(b.ID, "toolu"), b.Name), b.Input)
		return
	}
	g := a.Open(index, b.Type)
	g.Signature = b.Signature
	switch b.Type {
	case claude.Text:
		a.Add(g, b.Text)
	case claude.Reason:
		a.Add(g, b.Thinking)
	case claude.Redacted:
		a.Add(g, pieces.Piece(b.Data))
	}
}

// addDelta adds a delta to its block.
func (a *accumulator) addDelta(e *streamEvent) error {
	g := a.At(e.Index)
	if g == nil {
		return fmt.Errorf("a delta of block %d, which does not exist", e.Index)
	}
	d := &e.Delta
	switch {
	case d.Type == "text_delta" && g.Kind == claude.Text:
		a.Add(g, d.Text)
	case d.Type == "thinking_delta" && g.Kind == claude.Reason:
		a.Add(g, d.Thinking)
	case d.Type == "signature_delta":
		a.Size += len(d.Signature)
		g.Signature += d.Signature
	case d.Type == "input_json_delta" && g.Kind == claude.Call:
		a.Add(g, d.PartialJSON)
	}
	if a.Size > exchange.MaxAnswer {
		return exchange.ErrTooLarge
	}
	return nil
}

func (a *accumulator) count(u *wireUsage) {
	if u == nil {
		return
	}
	a.usageSeen = true
	set := func(to, from *int) {
		if from != nil && *from >= 0 {
			*to = *from
		}
	}
	set(&a.usage.Prompt, u.InputTokens)
	set(&a.usage.CacheWrite, u.CacheCreation)
	set(&a.usage.CacheRead, u.CacheRead)
	set(&a.usage.Output, u.OutputTokens)
	if u.OutputDetails != nil {
		set(&a.usage.Reasoning, &u.OutputDetails.ThinkingTokens)
	}
}

func (a *accumulator) response() *llm.Response {
	usage := a.usage
	usage.Prompt += usage.CacheRead + usage.CacheWrite
	return a.Response(usage, "refusal")
}
