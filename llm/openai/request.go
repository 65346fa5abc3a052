package openai

import (
	"encoding/json"
	"math"

	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/wirelog"
)

// wireRequest is the body of a request without the messages, which written
// writes; after
// https://platform.openai.com/docs/api-reference/chat/create.
type wireRequest struct {
	Model               string          `json:"model"`
	Tools               []wireTool      `json:"tools,omitempty"`
	ToolChoice          any             `json:"tool_choice,omitempty"`
	Stream              bool            `json:"stream,omitempty"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
	Stop                []string        `json:"stop,omitempty"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string          `json:"prompt_cache_key,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
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
}

type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// encode writes the body of r.
func (m *Model) encode(r *llm.Request) ([]byte, error) {
	w := wireRequest{
		Model:           m.end.WireModel(),
		Stream:          !r.NoStream,
		ReasoningEffort: m.quirks.EffortFor(r.ReasoningEffort),
	}
	if w.Stream && !m.quirks.NoStreamOptions {
		w.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if m.quirks.PromptCacheKey {
		w.PromptCacheKey = r.Session
	}
	if r.Schema != nil {
		w.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: jsonSchema{Name: "answer", Schema: r.Schema}}
	}
	m.sampling(&w, r)
	for _, t := range r.Tools {
		w.Tools = append(w.Tools, wireTool{Type: "function", Function: wireFunction{t.Name, t.Description, t.Parameters}})
	}
	if len(w.Tools) > 0 && r.ToolChoice != "" {
		w.ToolChoice = toolChoice(r.ToolChoice)
	}
	body, err := wirelog.AppendJSON(nil, &w)
	if err != nil {
		return nil, llm.NewError(fault.Invalid, m.info.Provider, m.info.Name, "the request cannot be written as JSON", err)
	}
	body[len(body)-1] = ',' // the history goes on inside the object
	body, end, err := m.sent.Append(body, r.Session, "", llm.Normalize(r.Messages), m.write)
	if err != nil {
		return nil, llm.NewError(fault.Invalid, m.info.Provider, m.info.Name, "the history cannot be written as JSON", err)
	}
	if !end.begun {
		return nil, m.end.Fail(fault.Invalid, "there is no message to answer")
	}
	return append(end.finish(body), '}'), nil
}

func (m *Model) sampling(w *wireRequest, r *llm.Request) {
	if !m.quirks.NoSampling {
		w.Temperature, w.TopP = finite(r.Temperature), finite(r.TopP)
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
}

// finite drops numbers that JSON has no form for.
func finite(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}

func toolChoice(c string) any {
	switch c {
	case "auto", "none", "required":
		return c
	}
	return map[string]any{"type": "function", "function": map[string]string{"name": c}}
}
