package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
	"github.com/deft-dev/deft/llm/structured"
)

// wireRequest is the body of a request without messages and tools, which
// written and historycache.Tools write; after
// https://platform.openai.com/docs/api-reference/chat/create.
type wireRequest struct {
	Model               string          `json:"model"`
	ToolChoice          any             `json:"tool_choice,omitempty"`
	Stream              bool            `json:"stream,omitempty"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	TopK                *int            `json:"top_k,omitempty"` // of compatible servers
	Seed                *int            `json:"seed,omitempty"`
	RandomSeed          *int            `json:"random_seed,omitempty"` // Mistral
	Stop                []string        `json:"stop,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string          `json:"prompt_cache_key,omitempty"`
	CacheRetention      string          `json:"prompt_cache_retention,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
	ReasoningSplit      bool            `json:"reasoning_split,omitempty"` // MiniMax
	Thinking            *thinking       `json:"thinking,omitempty"`        // Claude's, through a proxy
}

type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      bool            `json:"strict,omitempty"`
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict,omitempty"`
}

// encode writes the body of r.
func (m *Model) encode(ctx context.Context, r *llm.Request) ([][]byte, error) {
	w := wireRequest{
		Model:           m.end.WireModel(),
		Stream:          !r.NoStream,
		ReasoningEffort: m.quirks.EffortFor(r.ReasoningEffort),
		ReasoningSplit:  m.quirks.SplitReasoning,
	}
	msgs := llm.NormalizeGrown(ctx, r.Messages)
	if w.Stream && !m.quirks.NoStreamOptions {
		w.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if m.quirks.PromptCacheKey {
		w.PromptCacheKey = r.Session
	}
	if m.quirks.CacheRetention {
		w.CacheRetention = m.retention
	}
	if r.Schema != nil {
		w.ResponseFormat, msgs = m.answerAs(r.Schema, msgs)
	}
	if err := m.sampling(&w, r); err != nil {
		return nil, err
	}
	if choice := m.quirks.ToolChoiceFor(r.ToolChoice); len(r.Tools) > 0 && choice != "" {
		w.ToolChoice = toolChoice(choice)
	}
	body, end, err := m.sent.Encode(ctx, r.Session, "", msgs, m.write)
	if err != nil {
		return nil, m.end.Unwritten("the history", err)
	}
	if !end.begun {
		return nil, m.end.Fail(fault.Invalid, "there is no message to answer")
	}
	m.proxyThinking(&w, r, !end.missingThinking)
	parts, err := m.end.Head(&w, m.tools, r.Tools, m.writeTool)
	if err != nil {
		return nil, err
	}
	return historycache.Body(parts, body, append(end.finish(nil), '}')), nil
}

func (m *Model) writeTool(dst []byte, t *llm.Tool) ([]byte, error) {
	f := wireFunction{Name: t.Name, Description: t.Description}
	f.Parameters, f.Strict = structured.StrictIf(m.quirks.Strict, t.Parameters)
	return historycache.AppendJSON(dst, wireTool{Type: "function", Function: f})
}

func (m *Model) sampling(w *wireRequest, r *llm.Request) error {
	if !m.quirks.NoSampling {
		w.Temperature, w.TopP, w.TopK = exchange.Finite(r.Temperature), exchange.Finite(r.TopP), r.TopK
	}
	if w.TopK != nil && m.quirks.NoTopK {
		w.TopK = nil
		if err := m.end.LeaveOut("top_k"); err != nil {
			return err
		}
	}
	if !m.quirks.NoStop {
		w.Stop = r.Stop
	}
	limit := r.MaxOutputTokens
	if limit > 0 && m.info.MaxOutput > 0 {
		limit = min(limit, m.info.MaxOutput)
	}
	if m.quirks.MaxTokensField == "max_completion_tokens" {
		w.MaxCompletionTokens = limit
	} else {
		w.MaxTokens = limit
	}
	return m.seed(w, r.Seed)
}

// seed sets the seed if the server has a field for it.
func (m *Model) seed(w *wireRequest, seed *int) error {
	switch m.quirks.SeedField {
	case "":
		w.Seed = seed
	case llm.SeedRandom:
		w.RandomSeed = seed
	default:
		if seed != nil {
			return m.end.LeaveOut("seed")
		}
	}
	return nil
}

// answerAs requests an answer of a JSON schema in the server's form. If that is
// not the schema itself, the schema is appended to the history.
func (m *Model) answerAs(schema json.RawMessage, msgs []event.Message) (*responseFormat, []event.Message) {
	if m.quirks.Schema == "" {
		form := &jsonSchema{Name: "answer"}
		form.Schema, form.Strict = structured.StrictIf(m.quirks.Strict, schema)
		return &responseFormat{Type: "json_schema", JSONSchema: form}, msgs
	}
	ask := event.Text("Answer with one JSON object of this JSON schema and nothing else:\n" + string(schema))
	if n := len(msgs); n > 0 && msgs[n-1].Role == event.RoleUser {
		last := msgs[n-1]
		last.Content = append(slices.Clone(last.Content), ask)
		msgs = append(slices.Clone(msgs[:n-1]), last)
	} else if n > 0 {
		msgs = append(slices.Clone(msgs), event.Message{Role: event.RoleUser, Content: event.List[event.Content]{ask}})
	}
	if m.quirks.Schema == llm.SchemaObject {
		return &responseFormat{Type: "json_object"}, msgs
	}
	return nil, msgs
}

// proxyThinking requests Claude's extended thinking from a LiteLLM proxy, by
// reasoning_effort. Claude requires all thinking of the current turn to be sent
// back, and its default temperature; hasThinking is false if the turn began
// without thinking, perhaps with another model.
func (m *Model) proxyThinking(w *wireRequest, r *llm.Request, hasThinking bool) {
	if m.quirks.ReasoningField != llm.ReasoningBlocks || m.quirks.Thinking == "" || r.ReasoningEffort == "" || r.ReasoningEffort == "none" || !hasThinking {
		return
	}
	w.ReasoningEffort = llm.Quirks{Effort: true, Efforts: []string{"low", "medium", "high"}}.EffortFor(r.ReasoningEffort)
	if m.quirks.Thinking == llm.ThinkingBudget && r.ThinkingBudget > 0 {
		budget := r.ThinkingBudget
		if limit := cmp.Or(w.MaxTokens, w.MaxCompletionTokens); limit > 0 {
			budget = min(budget, limit-1)
		}
		w.Thinking = &thinking{"enabled", budget}
	}
	w.Temperature, w.TopP, w.TopK = nil, nil, nil
	if w.ToolChoice != "none" {
		w.ToolChoice = nil
	}
}

func toolChoice(c string) any {
	switch c {
	case "auto", "none", "required":
		return c
	}
	return map[string]any{"type": "function", "function": map[string]string{"name": c}}
}
