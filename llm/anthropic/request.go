package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/claude"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// defaultMaxTokens is sent if neither the request nor the catalogue limits the
// answer: the protocol requires a limit.
const defaultMaxTokens = 16_384

// wireRequest is the body of a request without tools, system and messages,
// which historycache.Tools and written write; after https://docs.anthropic.com/en/api/messages.
type wireRequest struct {
	Model         string      `json:"model"`
	MaxTokens     int         `json:"max_tokens"`
	ToolChoice    *toolChoice `json:"tool_choice,omitempty"`
	Stream        bool        `json:"stream,omitempty"`
	Temperature   *float64    `json:"temperature,omitempty"`
	TopP          *float64    `json:"top_p,omitempty"`
	TopK          *int        `json:"top_k,omitempty"`
	StopSequences []string    `json:"stop_sequences,omitempty"`
	claude.Parameters
}

type wireTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

// encode writes the body of r, and the beta header it needs.
func (m *Model) encode(ctx context.Context, r *llm.Request) (body [][]byte, beta string, err error) {
	body, end, err := m.history(ctx, r)
	if err != nil {
		return nil, "", err
	}
	if !end.Begun {
		return nil, "", m.end.Fail(fault.Invalid, "there is no message to answer")
	}
	w := wireRequest{Model: m.end.WireModel(), MaxTokens: m.maxTokens(r), Stream: !r.NoStream}
	if len(r.Tools) > 0 {
		w.ToolChoice = choice(r.ToolChoice)
	}
	w.Answer(r)
	// A forced tool and thinking exclude each other.
	forced := w.ToolChoice != nil && w.ToolChoice.Type != "auto" && w.ToolChoice.Type != "none"
	if !forced && w.Think(m.quirks.Thinking, r, !end.missingThinking, w.MaxTokens) {
		beta = claude.Interleaved
	}
	if w.Thinking == nil && !m.quirks.NoSampling {
		w.Temperature, w.TopP, w.TopK = exchange.Unit(r.Temperature), exchange.Unit(r.TopP), r.TopK
	}
	if r.Seed != nil {
		if err := m.end.LeaveOut("seed"); err != nil {
			return nil, "", err
		}
	}
	w.StopSequences = visible(r.Stop)
	parts, err := m.end.Head(&w, m.tools, r.Tools, writeTool)
	if err != nil {
		return nil, "", err
	}
	return historycache.Body(parts, body, append(end.finish(nil), '}')), beta, nil
}

// history encodes the messages of r, with the maximum number of cache marks
// that the API accepts.
func (m *Model) history(ctx context.Context, r *llm.Request) ([][]byte, written, error) {
	msgs := llm.NormalizeGrown(ctx, r.Messages)
	body, end, err := m.sent.Encode(ctx, r.Session, "", msgs, m.write)
	if err == nil && end.marks > maxMarks {
		return m.sent.Encode(ctx, r.Session, "", historycache.LimitCacheMarks(msgs, maxMarks, marked), m.write)
	}
	return body, end, err
}

func writeTool(dst []byte, t *llm.Tool) ([]byte, error) {
	schema := t.Parameters
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return historycache.AppendJSON(dst, wireTool{t.Name, t.Description, schema})
}

func (m *Model) maxTokens(r *llm.Request) int {
	known := cmp.Or(m.info.MaxOutput, defaultMaxTokens)
	if r.MaxOutputTokens > 0 && (m.info.MaxOutput == 0 || r.MaxOutputTokens < known) {
		return r.MaxOutputTokens
	}
	return known
}

func choice(c string) *toolChoice {
	switch c {
	case "":
		return nil
	case "auto", "none":
		return &toolChoice{Type: c}
	case "required":
		return &toolChoice{Type: "any"}
	}
	return &toolChoice{Type: "tool", Name: c}
}

// visible removes blank stop sequences, which the API refuses.
func visible(stop []string) []string {
	var out []string
	for _, s := range stop {
		if len(bytes.TrimSpace([]byte(s))) > 0 {
			out = append(out, s)
		}
	}
	return out
}
