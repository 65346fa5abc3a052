package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
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
		Type        string         `json:"type"`
		Text        exchange.Piece `json:"text"`
		Thinking    exchange.Piece `json:"thinking"`
		Signature   string         `json:"signature"`
		PartialJSON exchange.Piece `json:"partial_json"`
		StopReason  string         `json:"stop_reason"`
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
	Text      exchange.Piece  `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  exchange.Piece  `json:"thinking"`
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

// openBlock is a content block that is not complete.
type openBlock struct {
	answerBlock
	text exchange.Text // text, thinking or arguments
	call int           // position among the calls
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
	usage           llm.Usage // Prompt without cached tokens
	usageSeen       bool
	size            int
}

func newAccumulator(onDelta func(llm.Delta)) *accumulator {
	return &accumulator{Deltas: exchange.To(onDelta), byIndex: map[int]*openBlock{}}
}

// begin adds the frame of an answer: message_start, or the whole document.
func (a *accumulator) begin(m *wireAnswer) {
	a.id, a.model, a.stop = m.ID, m.Model, m.StopReason
	a.count(m.Usage)
}

// open begins a block, with the content in its first event.
func (a *accumulator) open(index int, b *answerBlock) {
	g := &openBlock{answerBlock: *b}
	a.size += len(b.Text) + len(b.Thinking) + len(b.Data) + len(b.Input) + 128
	a.blocks = append(a.blocks, g)
	a.byIndex[index] = g
	switch b.Type {
	case "text":
		a.addText(g, b.Text)
	case "thinking":
		a.addReasoning(g, b.Thinking)
	case "tool_use":
		g.call = a.calls
		a.calls++
		g.ID = a.ids.Unique(cmp.Or(b.ID, "toolu"))
		a.Emit(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: g.call, ID: g.ID, Name: b.Name}})
		if len(b.Input) > 0 && string(b.Input) != "{}" && string(b.Input) != "null" {
			a.addArguments(g, exchange.Piece(b.Input))
		}
	}
}

func (a *accumulator) addText(g *openBlock, p exchange.Piece) {
	if s := g.text.Add(string(p)); s != "" {
		a.Emit(llm.Delta{Text: s})
	}
}

func (a *accumulator) addReasoning(g *openBlock, p exchange.Piece) {
	if s := g.text.Add(string(p)); s != "" {
		a.Emit(llm.Delta{Reasoning: s})
	}
}

func (a *accumulator) addArguments(g *openBlock, p exchange.Piece) {
	if s := g.text.Add(string(p)); s != "" {
		a.Emit(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: g.call, Arguments: s}})
	}
}

// addDelta adds a delta to its block.
func (a *accumulator) addDelta(e *streamEvent) error {
	g := a.byIndex[e.Index]
	if g == nil {
		return fmt.Errorf("a delta of block %d, which does not exist", e.Index)
	}
	d := &e.Delta
	a.size += len(d.Text) + len(d.Thinking) + len(d.PartialJSON) + len(d.Signature)
	if a.size > exchange.MaxAnswer {
		return exchange.ErrTooLarge
	}
	switch {
	case d.Type == "text_delta" && g.Type == "text":
		a.addText(g, d.Text)
	case d.Type == "thinking_delta" && g.Type == "thinking":
		a.addReasoning(g, d.Thinking)
	case d.Type == "signature_delta":
		g.Signature += d.Signature
	case d.Type == "input_json_delta" && g.Type == "tool_use":
		a.addArguments(g, d.PartialJSON)
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

// empty reports whether the answer has no content.
func (a *accumulator) empty() bool {
	for _, g := range a.blocks {
		if g.Type != "text" || strings.TrimSpace(g.text.String()) != "" {
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
		switch g.Type {
		case "text":
			msg.Content = append(msg.Content, event.Texts(text)...)
		case "thinking":
			reasoningText.WriteString(text)
			msg.ThinkingBlocks = append(msg.ThinkingBlocks, event.ThinkingBlock{Type: g.Type, Thinking: text, Signature: g.Signature})
		case "redacted_thinking":
			msg.ThinkingBlocks = append(msg.ThinkingBlocks, event.ThinkingBlock{Type: g.Type, Data: g.Data})
		case "tool_use":
			if strings.TrimSpace(text) == "" {
				text = "{}"
			}
			msg.ToolCalls = append(msg.ToolCalls, event.ToolCall{ID: g.ID, Name: g.Name, Arguments: text, Origin: event.OriginCompletion})
		}
	}
	msg.ReasoningContent = reasoningText.String()
	usage := a.usage
	usage.Prompt += usage.CacheRead + usage.CacheWrite
	return &llm.Response{ID: a.id, Model: a.model, Message: msg, Finish: a.finished(), Usage: usage}
}

func (a *accumulator) finished() llm.Finish {
	switch a.stop {
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "refusal":
		return llm.FinishContent
	}
	if a.calls > 0 || a.stop == "tool_use" {
		return llm.FinishTools
	}
	return llm.FinishStop
}
