package claude

import (
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// Kinds of blocks, by their types in the Messages API. Others are kept without content.
const (
	Text     = "text"
	Reason   = event.TypeThinking
	Redacted = event.TypeRedacted
	Call     = "tool_use"
)

// Block is a content block that is not complete.
type Block struct {
	Kind      string
	Signature string // of reasoning

	text     pieces.Text // text, reasoning, redacted data or arguments
	id, name string      // of a call
	call     int         // position among the calls
}

// Blocks assemble an answer, in time linear in its size, and deliver its pieces.
type Blocks struct {
	exchange.Deltas

	ID, Model, Stop string
	Size            int // of all blocks, in bytes

	blocks  []*Block
	byIndex map[int]*Block
	ids     exchange.CallIDs
	calls   int
}

// NewBlocks returns an answer without blocks.
func NewBlocks(onDelta func(llm.Delta)) Blocks {
	return Blocks{Deltas: exchange.To(onDelta), byIndex: map[int]*Block{}}
}

// At returns the block at an index, nil if there is none.
func (a *Blocks) At(index int) *Block { return a.byIndex[index] }

// Open begins a block, which takes the place of an older one at the index.
func (a *Blocks) Open(index int, kind string) *Block {
	b := &Block{Kind: kind}
	a.Size += 128
	a.blocks = append(a.blocks, b)
	a.byIndex[index] = b
	return b
}

// OpenCall begins a call.
func (a *Blocks) OpenCall(index int, id, name string) *Block {
	b := a.Open(index, Call)
	b.id, b.name, b.call = a.ids.Unique(id), name, a.calls
	a.calls++
	a.Emit(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: b.call, ID: b.id, Name: b.name}})
	return b
}

// Add adds a piece of a block's own kind.
func (a *Blocks) Add(b *Block, p pieces.Piece) {
	a.Size += len(p)
	s := b.text.Add(string(p))
	switch {
	case s == "":
	case b.Kind == Text:
		a.Emit(llm.Delta{Text: s})
	case b.Kind == Reason:
		a.Emit(llm.Delta{Reasoning: s})
	case b.Kind == Call:
		a.Emit(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: b.call, Arguments: s}})
	}
}

// AddInput adds the arguments of a call that come with its beginning, if there are any.
func (a *Blocks) AddInput(b *Block, input []byte) {
	if p := pieces.Piece(input); p != "{}" && p != "null" {
		a.Add(b, p)
	}
}

// Empty reports whether the answer has no content.
func (a *Blocks) Empty() bool {
	for _, b := range a.blocks {
		if b.Kind != Text || strings.TrimSpace(b.text.String()) != "" {
			return false
		}
	}
	return true
}

// Response returns the answer. refused are the stop reasons of a refusal.
func (a *Blocks) Response(usage llm.Usage, refused ...string) *llm.Response {
	msg := event.Message{Role: event.RoleAssistant}
	var reasoning strings.Builder
	for _, b := range a.blocks {
		text := b.text.String()
		switch b.Kind {
		case Text:
			msg.Content = append(msg.Content, event.Texts(text)...)
		case Reason:
			reasoning.WriteString(text)
			msg.ThinkingBlocks = append(msg.ThinkingBlocks, event.ThinkingBlock{Type: b.Kind, Thinking: text, Signature: b.Signature})
		case Redacted:
			msg.ThinkingBlocks = append(msg.ThinkingBlocks, event.ThinkingBlock{Type: b.Kind, Data: text})
		case Call:
			if strings.TrimSpace(text) == "" {
				text = "{}"
			}
			msg.ToolCalls = append(msg.ToolCalls, event.ToolCall{ID: b.id, Name: b.name, Arguments: text, Origin: event.OriginCompletion})
		}
	}
	msg.ReasoningContent = reasoning.String()
	return &llm.Response{ID: a.ID, Model: a.Model, Message: msg, Finish: a.finish(refused), Usage: usage}
}

func (a *Blocks) finish(refused []string) llm.Finish {
	if a.Stop == "max_tokens" || a.Stop == "model_context_window_exceeded" {
		return llm.FinishLength
	}
	if slices.Contains(refused, a.Stop) {
		return llm.FinishContent
	}
	if a.calls > 0 || a.Stop == Call {
		return llm.FinishTools
	}
	return llm.FinishStop
}
