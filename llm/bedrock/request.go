package bedrock

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// The answer and the prompt share the context window: max_tokens is limited to the
// rest that the prompt leaves (docs/openhands/sdk-features.md section 1).
const (
	joinMargin = 256   // tokens left free
	minOutput  = 1_024 // lowest limit in tokens
)

// defaultMaxTokens is sent to Claude if neither the request nor the catalogue
// limits the answer; other models use their own maximum.
const defaultMaxTokens = 16_384

// wireRequest is the body of a request without tools, system and messages,
// which historycache.Tools and written write; after
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
type wireRequest struct {
	InferenceConfig *inference      `json:"inferenceConfig,omitempty"`
	Additional      json.RawMessage `json:"additionalModelRequestFields,omitempty"`
}

type inference struct {
	MaxTokens     int      `json:"maxTokens,omitempty"`
	Temperature   *float64 `json:"temperature,omitempty"`
	TopP          *float64 `json:"topP,omitempty"`
	StopSequences []string `json:"stopSequences,omitempty"`
}

type toolItem struct {
	ToolSpec toolSpec `json:"toolSpec"`
}

type toolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	InputSchema schema `json:"inputSchema"`
}

type schema struct {
	JSON json.RawMessage `json:"json"`
}

type toolChoice struct {
	Auto *struct{} `json:"auto,omitempty"`
	Any  *struct{} `json:"any,omitempty"`
	Tool *toolName `json:"tool,omitempty"`
}

type toolName struct {
	Name string `json:"name"`
}

var anyObject = json.RawMessage(`{"type":"object","properties":{}}`)

// encode writes the body of r.
func (m *Model) encode(ctx context.Context, r *llm.Request) ([][]byte, error) {
	msgs := llm.NormalizeGrown(ctx, r.Messages)
	body, end, err := m.history(ctx, r.Session, msgs)
	if err != nil {
		return nil, m.end.Unwritten("the request", err)
	}
	if !end.Begun {
		return nil, m.end.Fail(fault.Invalid, "there is no message to answer")
	}
	tools := r.Tools
	if r.ToolChoice == "none" || len(tools) == 0 && end.calls {
		tools = called(msgs)
	}
	var c *toolChoice
	if len(tools) > 0 && r.ToolChoice != "none" {
		c = choice(r.ToolChoice)
	}
	var w wireRequest
	config := inference{MaxTokens: m.maxTokens(r, end.tokens)}
	extras := m.modelParameters(r, !end.missingThinking, config.MaxTokens, len(tools) > 0, c)
	if !m.quirks.NoSampling && extras.Thinking == nil {
		config.Temperature, config.TopP = exchange.Unit(r.Temperature), exchange.Unit(r.TopP)
		err = m.topK(&extras, r.TopK)
	}
	if err == nil && r.Seed != nil {
		err = m.end.LeaveOut("seed")
	}
	if err == nil {
		w.Additional, err = m.additional(extras)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range r.Stop {
		if strings.TrimSpace(s) != "" && !m.quirks.NoStop {
			config.StopSequences = append(config.StopSequences, s)
		}
	}
	if config.MaxTokens > 0 || config.Temperature != nil || config.TopP != nil || config.StopSequences != nil {
		w.InferenceConfig = &config
	}
	parts, err := m.withTools(tools, c)
	if err != nil {
		return nil, m.end.Unwritten("the request", err)
	}
	rest, err := historycache.AppendJSON(nil, &w)
	if err != nil {
		return nil, m.end.Unwritten("the request", err)
	}
	if len(rest) > len("{}") {
		rest[len(rest)-1] = ',' // the history follows in the object
		parts = append(parts, rest[1:])
	}
	return historycache.Body(parts, body, append(end.finish(nil), '}')), nil
}

// history encodes messages, with the maximum number of cache marks that the API
// accepts.
func (m *Model) history(ctx context.Context, session string, msgs []event.Message) ([][]byte, written, error) {
	body, end, err := m.sent.Encode(ctx, session, "", msgs, m.write)
	if err == nil && end.marks > maxMarks {
		return m.sent.Encode(ctx, session, "", historycache.LimitCacheMarks(msgs, maxMarks, marked), m.write)
	}
	return body, end, err
}

// withTools returns the beginning of a body with the tools and the tool choice.
func (m *Model) withTools(tools []llm.Tool, c *toolChoice) ([][]byte, error) {
	after := "},"
	if c != nil {
		choice, err := historycache.AppendJSON([]byte(`,"toolChoice":`), c)
		if err != nil {
			return nil, err
		}
		after = string(choice) + after
	}
	return m.tools.Parts([]byte{'{'}, `"toolConfig":{"tools":`, after, tools, writeTool)
}

func writeTool(dst []byte, t *llm.Tool) ([]byte, error) {
	params := t.Parameters
	if len(params) == 0 {
		params = anyObject
	}
	return historycache.AppendJSON(dst, toolItem{toolSpec{t.Name, t.Description, schema{params}}})
}

// maxTokens is the limit of the answer, 0 for the model's default.
func (m *Model) maxTokens(r *llm.Request, prompt int) int {
	want := r.MaxOutputTokens
	if want == 0 && m.vendor == "anthropic" {
		want = cmp.Or(m.info.MaxOutput, defaultMaxTokens)
	}
	if m.info.MaxOutput > 0 {
		want = min(want, m.info.MaxOutput)
	}
	if want == 0 || m.info.ContextWindow == 0 {
		return want
	}
	room := m.info.ContextWindow - joinMargin - prompt - llm.EstimateTokens(nil, r.Tools)
	return min(want, max(room, minOutput))
}

// called returns the tools called in a history: the API requires their
// definitions even if no tools are offered.
func called(msgs []event.Message) []llm.Tool {
	var tools []llm.Tool
	known := map[string]bool{}
	for i := range msgs {
		for k := range msgs[i].ToolCalls {
			if name := msgs[i].ToolCalls[k].Name; !known[name] {
				known[name] = true
				tools = append(tools, llm.Tool{Name: name, Description: "Not available now."})
			}
		}
	}
	return tools
}

func choice(c string) *toolChoice {
	switch c {
	case "":
		return nil
	case "auto":
		return &toolChoice{Auto: &struct{}{}}
	case "required":
		return &toolChoice{Any: &struct{}{}}
	}
	return &toolChoice{Tool: &toolName{c}}
}
