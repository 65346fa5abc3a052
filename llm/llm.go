// Package llm defines language models independently of their providers: one
// request and one response form, streamed, that every provider's adapter
// translates. The messages have the types of package event; there is no second
// form of them.
//
// # Usage
//
//	m, err := openai.New(llm.Config{Model: "gpt-5.6", APIKey: key})
//	resp, err := llm.Complete(ctx, m, llm.Request{Messages: msgs, Tools: tools}, func(d llm.Delta) { … })
//
// Adapters live one level below (llm/openai, llm/anthropic) and are chosen by
// the program that wires them; llm/route maps model names to adapters.
//
// # Concurrency
//
// A Model is safe for concurrent use. Cancelling the context closes the
// connection.
//
// # Failure
//
// Errors are *[Error]: a kind of package fault, the provider's own status and
// code, whether and after how long a retry may help. A stream that ends before
// its final part is an error, never a short answer. Adapters do not retry;
// package broker does.
package llm

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deft-dev/deft/event"
)

// Model is one LLM behind one endpoint.
type Model interface {
	// Info describes the model.
	Info() Info
	// Generate makes one call and returns the whole response. Deltas are
	// handed to onDelta as they arrive, in order, from one goroutine; it is
	// never nil and must not block for long.
	Generate(ctx context.Context, r Request, onDelta func(Delta)) (*Response, error)
}

// Info describes a model. Zero numbers mean unknown.
type Info struct {
	Name          string // as the user named it, with its prefix
	Provider      string // "openai", "anthropic", …
	ContextWindow int    // tokens, prompt and output together
	MaxOutput     int    // tokens
	Price         Price
	Vision        bool
	Reasoning     bool
	Tools         bool // native tool calling
	PromptCache   bool // takes explicit cache marks
	// MustEcho lists the parts of an assistant message that have to be sent back.
	MustEcho Echo
	// Missing names the setting that the model needs before it can be called, such as
	// "an API key"; "" for none. Without it calls fail with [ErrNotSetUp], and make no
	// request.
	Missing string
}

// Echo lists the reasoning that an assistant message must carry when it is sent
// back to the model.
type Echo struct {
	ThinkingBlocks   bool
	ReasoningContent bool
	ReasoningItems   bool
}

// Price is in US dollars for one million tokens. Without Known the price is
// unknown, not zero.
type Price struct {
	Known      bool
	Input      float64
	CacheRead  float64
	CacheWrite float64
	Output     float64
}

// Request is one call.
type Request struct {
	Messages []event.Message
	Tools    []Tool
	// ToolChoice is "", "auto", "none", "required" or a tool's name.
	ToolChoice string
	// MaxOutputTokens bounds the answer; 0 takes the model's own maximum.
	MaxOutputTokens int
	Temperature     *float64
	TopP            *float64
	// TopK limits sampling to the most likely tokens; Seed makes sampling
	// repeatable as far as the provider can. A provider without them ignores
	// them; with [Config.KeepParameters] most adapters return an error instead.
	TopK *int
	Seed *int
	Stop []string
	// ReasoningEffort is "", "none", "low", "medium", "high" or "xhigh".
	ReasoningEffort string
	// ThinkingBudget is how many tokens a model with [ThinkingBudget] may
	// think; 0 derives it from the effort. It is not used without an effort, or
	// with "none".
	ThinkingBudget int
	// Session is the conversation id: cache key and tracing header.
	Session string
	// Schema asks for an answer that is JSON of this schema; nil for text.
	Schema json.RawMessage
	// NoStream asks for one whole answer where a server cannot stream.
	NoStream bool
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of an object
}

// Delta is a piece of the answer as it arrives. At most one field group is
// set.
type Delta struct {
	Text      string
	Reasoning string
	ToolCall  *ToolCallDelta
}

// ToolCallDelta is a piece of a tool call. Index counts the calls of the
// answer from 0; ID and Name come with the first piece.
type ToolCallDelta struct {
	Index     int
	ID        string
	Name      string
	Arguments string
}

// Response is a whole answer.
type Response struct {
	ID      string // the provider's id of the response
	Model   string // the model that really answered
	Message event.Message
	Finish  Finish
	Usage   Usage
	// Cost in US dollars; CostKnown is false when the price is unknown.
	Cost      float64
	CostKnown bool
	Latency   time.Duration
	FirstByte time.Duration // until the first delta
	// Served describes the model that answered where a layer chose between
	// several; nil for the model that was called.
	Served *Info
	// Discarded are answers to the same request that came before this one and were
	// of no use, such as empty ones. They have no Message and are billed too.
	Discarded []*Response
}

// By returns the description of the model that answered a call to asked.
func (r *Response) By(asked Info) Info {
	if r.Served != nil {
		return *r.Served
	}
	return asked
}

// Finish is the reason why the answer ended.
type Finish string

// The reasons. FinishTools without calls is an answer whose calls were lost.
const (
	FinishStop    Finish = "stop"
	FinishTools   Finish = "tool_calls"
	FinishLength  Finish = "length"
	FinishContent Finish = "content_filter"
)

// Usage counts tokens as the provider billed them. Prompt includes tokens read
// from and written to the cache; Output includes reasoning.
type Usage struct {
	Prompt     int
	Output     int
	CacheRead  int
	CacheWrite int
	Reasoning  int
}

// Cost prices a usage. known is false when the price is.
func (p Price) Cost(u Usage) (dollars float64, known bool) {
	if !p.Known {
		return 0, false
	}
	plain := u.Prompt - u.CacheRead - u.CacheWrite
	return (float64(plain)*p.Input + float64(u.CacheRead)*p.CacheRead +
		float64(u.CacheWrite)*p.CacheWrite + float64(u.Output)*p.Output) / 1e6, true
}

// Complete calls m.Generate. onDelta may be nil.
func Complete(ctx context.Context, m Model, r Request, onDelta func(Delta)) (*Response, error) {
	if onDelta == nil {
		onDelta = func(Delta) {}
	}
	return m.Generate(ctx, r, onDelta)
}
