package responses

import (
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
	"github.com/deft-dev/deft/llm/structured"
)

// wireRequest is the body of a request without tools and input, which
// historycache.Tools and write write; after
// https://platform.openai.com/docs/api-reference/responses/create.
type wireRequest struct {
	Model                string         `json:"model"`
	Instructions         string         `json:"instructions,omitempty"`
	ToolChoice           any            `json:"tool_choice,omitempty"`
	Stream               bool           `json:"stream,omitempty"`
	Store                bool           `json:"store"`
	Include              []string       `json:"include,omitempty"`
	Reasoning            *wireReasoning `json:"reasoning,omitempty"`
	Text                 *wireText      `json:"text,omitempty"`
	MaxOutputTokens      int            `json:"max_output_tokens,omitempty"`
	Temperature          *float64       `json:"temperature,omitempty"`
	TopP                 *float64       `json:"top_p,omitempty"`
	PromptCacheKey       string         `json:"prompt_cache_key,omitempty"`
	PromptCacheRetention string         `json:"prompt_cache_retention,omitempty"`
}

type wireReasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type wireTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// Strict is always sent: its default is true, and not every schema has a
	// strict form.
	Strict bool `json:"strict"`
}

type wireText struct {
	Format wireFormat `json:"format"`
}

type wireFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// minOutput is the API's minimum of max_output_tokens.
const minOutput = 16

// encode writes the body of r.
func (m *Model) encode(ctx context.Context, r *llm.Request, known *refusals) ([][]byte, error) {
	instructions, msgs := split(llm.NormalizeGrown(ctx, r.Messages))
	if len(msgs) == 0 {
		return nil, m.end.Fail(fault.Invalid, "there is no message to answer")
	}
	w := wireRequest{Model: m.end.WireModel(), Instructions: instructions, Stream: !r.NoStream}
	m.reasoning(&w, r, known)
	m.limits(&w, r)
	if m.quirks.PromptCacheKey {
		w.PromptCacheKey = r.Session
	}
	if m.quirks.CacheRetention {
		w.PromptCacheRetention = m.retention
	}
	if r.Schema != nil {
		w.Text = &wireText{wireFormat{Type: "json_schema", Name: "answer"}}
		w.Text.Format.Schema, w.Text.Format.Strict = structured.StrictIf(m.quirks.Strict, r.Schema)
	}
	if choice := m.quirks.ToolChoiceFor(r.ToolChoice); len(r.Tools) > 0 && choice != "" {
		w.ToolChoice = toolChoice(choice)
	}
	parts, err := m.end.Head(&w, m.tools, r.Tools, m.writeTool)
	if err != nil {
		return nil, err
	}
	body, _, err := m.sent.Encode(ctx, r.Session, known.variant(), msgs, writer{m, known}.write)
	if err != nil {
		return nil, m.end.Unwritten("the history", err)
	}
	return historycache.Body(append(parts, []byte(`"input":[`)), body, []byte("]}")), nil
}

func (m *Model) writeTool(dst []byte, t *llm.Tool) ([]byte, error) {
	params := t.Parameters
	if len(params) == 0 {
		params = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	w := wireTool{Type: "function", Name: t.Name, Description: t.Description}
	w.Parameters, w.Strict = structured.StrictIf(m.quirks.Strict, params)
	return historycache.AppendJSON(dst, w)
}

// reasoning sets the parameters of reasoning models; other models refuse them.
func (m *Model) reasoning(w *wireRequest, r *llm.Request, known *refusals) {
	if !m.info.Reasoning {
		return
	}
	if !m.plain {
		w.Include = []string{"reasoning.encrypted_content"}
	}
	w.Reasoning = &wireReasoning{Effort: m.quirks.EffortFor(r.ReasoningEffort)}
	if !known.summary && w.Reasoning.Effort != "none" {
		w.Reasoning.Summary = m.summary
	}
	if *w.Reasoning == (wireReasoning{}) {
		w.Reasoning = nil
	}
}

func (m *Model) limits(w *wireRequest, r *llm.Request) {
	if !m.quirks.NoSampling {
		w.Temperature, w.TopP = exchange.Finite(r.Temperature), exchange.Finite(r.TopP)
	}
	if r.MaxOutputTokens <= 0 {
		return
	}
	w.MaxOutputTokens = max(minOutput, r.MaxOutputTokens)
	if m.info.MaxOutput > 0 {
		w.MaxOutputTokens = min(w.MaxOutputTokens, max(minOutput, m.info.MaxOutput))
	}
}

func toolChoice(c string) any {
	switch c {
	case "auto", "none", "required":
		return c
	}
	return struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}{"function", c}
}
