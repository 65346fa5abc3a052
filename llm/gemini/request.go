package gemini

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// wireRequest is the body of a request without tools, instruction and contents,
// which historycache.Tools and written write; after
// https://ai.google.dev/api/generate-content.
type wireRequest struct {
	ToolConfig       *toolConfig `json:"toolConfig,omitempty"`
	GenerationConfig *generation `json:"generationConfig,omitempty"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type toolConfig struct {
	FunctionCallingConfig callingConfig `json:"functionCallingConfig"`
}

type callingConfig struct {
	Mode                 string   `json:"mode"`
	AllowedFunctionNames []string `json:"allowedFunctionNames,omitempty"`
}

type generation struct {
	MaxOutputTokens  int             `json:"maxOutputTokens,omitempty"`
	Temperature      *float64        `json:"temperature,omitempty"`
	TopP             *float64        `json:"topP,omitempty"`
	TopK             *int            `json:"topK,omitempty"`
	Seed             *int            `json:"seed,omitempty"`
	StopSequences    []string        `json:"stopSequences,omitempty"`
	ResponseMIMEType string          `json:"responseMimeType,omitempty"`
	ResponseSchema   json.RawMessage `json:"responseSchema,omitempty"`
	ThinkingConfig   *thinkingConfig `json:"thinkingConfig,omitempty"`
}

// maxStops is the maximum number of stop sequences.
const maxStops = 5

// encode writes the body of r.
func (m *Model) encode(ctx context.Context, r *llm.Request) ([][]byte, error) {
	var w wireRequest
	if c := choice(r.ToolChoice); len(r.Tools) > 0 && c != nil {
		w.ToolConfig = &toolConfig{*c}
	}
	if err := m.generation(&w, r); err != nil {
		return nil, err
	}
	parts, err := m.tools.Parts([]byte{'{'}, `"tools":[{"functionDeclarations":`, "}],", r.Tools, m.writeTool)
	if err != nil {
		return nil, err
	}
	rest, err := historycache.AppendJSON(nil, &w)
	if err != nil {
		return nil, m.end.Unwritten("the request", err)
	}
	if rest, err = m.end.Extend(rest); err != nil {
		return nil, m.end.Unwritten("the request", err)
	}
	if len(rest) > len("{}") {
		rest[len(rest)-1] = ',' // the history follows in the object
		parts = append(parts, rest[1:])
	}
	body, end, err := m.sent.Encode(ctx, r.Session, "", llm.NormalizeGrown(ctx, r.Messages), m.write)
	if err != nil {
		return nil, m.end.Unwritten("the request", err)
	}
	if !end.Begun {
		return nil, m.end.Fail(fault.Invalid, "there is no message to answer")
	}
	return historycache.Body(parts, body, append(end.finish(nil), '}')), nil
}

func (m *Model) writeTool(dst []byte, t *llm.Tool) ([]byte, error) {
	schema, err := cleanSchema(t.Parameters)
	if err != nil {
		return dst, m.end.Fail(fault.Invalid, "the parameters of tool "+t.Name+" are not a JSON schema")
	}
	if dst, err = historycache.AppendJSON(dst, function{t.Name, t.Description, schema}); err != nil {
		return dst, m.end.Unwritten("the request", err)
	}
	return dst, nil
}

// generation sets the parameters of the answer.
func (m *Model) generation(w *wireRequest, r *llm.Request) error {
	g := &generation{MaxOutputTokens: r.MaxOutputTokens, Seed: r.Seed}
	if m.info.MaxOutput > 0 {
		g.MaxOutputTokens = min(g.MaxOutputTokens, m.info.MaxOutput)
	}
	g.ThinkingConfig = m.family.thinking(r.ReasoningEffort, g.MaxOutputTokens)
	if !m.quirks.NoSampling {
		g.Temperature, g.TopP, g.TopK = r.Temperature, r.TopP, r.TopK
	}
	for _, s := range r.Stop {
		if strings.TrimSpace(s) != "" && len(g.StopSequences) < maxStops && !m.quirks.NoStop {
			g.StopSequences = append(g.StopSequences, s)
		}
	}
	// Before Gemini 3 the API refuses JSON answers together with function
	// calls; the calls take precedence.
	if r.Schema != nil && (len(r.Tools) == 0 || m.family.version >= 3) {
		schema, err := cleanSchema(r.Schema)
		if err != nil {
			return m.end.Fail(fault.Invalid, "the schema of the answer is not a JSON schema")
		}
		g.ResponseMIMEType, g.ResponseSchema = "application/json", schema
	}
	if g.MaxOutputTokens > 0 || g.ThinkingConfig != nil || g.Temperature != nil || g.TopP != nil || g.StopSequences != nil || g.ResponseMIMEType != "" || g.TopK != nil || g.Seed != nil {
		w.GenerationConfig = g
	}
	return nil
}

func choice(c string) *callingConfig {
	switch c {
	case "":
		return nil
	case "auto":
		return &callingConfig{Mode: "AUTO"}
	case "none":
		return &callingConfig{Mode: "NONE"}
	case "required":
		return &callingConfig{Mode: "ANY"}
	}
	return &callingConfig{Mode: "ANY", AllowedFunctionNames: []string{c}}
}
