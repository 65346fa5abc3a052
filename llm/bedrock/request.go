package bedrock

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/llm"
)

// The answer and the prompt share the context window: what is asked for is cut
// to what the prompt leaves (sdk-features.md section 1).
const (
	joinMargin = 256   // tokens left free
	leastJoint = 1_024 // tokens asked for even so
)

// defaultMaxTokens is sent to Claude where nobody says how long an answer may
// be; other models take their own maximum.
const defaultMaxTokens = 16_384

// wireRequest is the body of a request, after
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
type wireRequest struct {
	System          []block      `json:"system,omitempty"`
	Messages        []wireTurn   `json:"messages"`
	InferenceConfig *inference   `json:"inferenceConfig,omitempty"`
	ToolConfig      *toolConfig  `json:"toolConfig,omitempty"`
	Additional      *modelFields `json:"additionalModelRequestFields,omitempty"`
}

type inference struct {
	MaxTokens     int      `json:"maxTokens,omitempty"`
	Temperature   *float64 `json:"temperature,omitempty"`
	TopP          *float64 `json:"topP,omitempty"`
	StopSequences []string `json:"stopSequences,omitempty"`
}

type toolConfig struct {
	Tools      []toolItem  `json:"tools"`
	ToolChoice *toolChoice `json:"toolChoice,omitempty"`
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
func (m *Model) encode(r *llm.Request) ([]byte, error) {
	msgs := llm.Normalize(r.Messages)
	var w wireRequest
	w.System, w.Messages = m.history(msgs)
	if len(w.Messages) == 0 {
		return nil, m.end.Fail(fault.Invalid, "there is no message to answer")
	}
	w.ToolConfig = offer(r, msgs)
	config := inference{MaxTokens: m.maxTokens(r)}
	w.Additional = m.extras(r, msgs, config.MaxTokens, w.ToolConfig)
	if !m.quirks.NoSampling && (w.Additional == nil || w.Additional.Thinking == nil) {
		config.Temperature, config.TopP = m.unit(r.Temperature), m.unit(r.TopP)
	}
	for _, s := range r.Stop {
		if strings.TrimSpace(s) != "" && !m.quirks.NoStop {
			config.StopSequences = append(config.StopSequences, s)
		}
	}
	if config.MaxTokens > 0 || config.Temperature != nil || config.TopP != nil || config.StopSequences != nil {
		w.InferenceConfig = &config
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&w); err != nil {
		return nil, llm.NewError(fault.Invalid, m.info.Provider, m.info.Name, "the request cannot be written as JSON", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// maxTokens is how long the answer may be, 0 for the model's own way.
func (m *Model) maxTokens(r *llm.Request) int {
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
	room := m.info.ContextWindow - joinMargin - llm.EstimateTokens(r.Messages, r.Tools)
	return min(want, max(room, leastJoint))
}

// offer writes the tools. A history with calls needs a list of tools even
// where none is offered any more; it then names those that were called.
func offer(r *llm.Request, msgs []event.Message) *toolConfig {
	var c toolConfig
	if r.ToolChoice != "none" {
		for _, t := range r.Tools {
			params := t.Parameters
			if len(params) == 0 {
				params = anyObject
			}
			c.Tools = append(c.Tools, toolItem{toolSpec{t.Name, t.Description, schema{params}}})
		}
	}
	if len(c.Tools) > 0 {
		c.ToolChoice = choice(r.ToolChoice)
		return &c
	}
	known := map[string]bool{}
	for i := range msgs {
		for _, call := range msgs[i].ToolCalls {
			if !known[call.Name] {
				known[call.Name] = true
				c.Tools = append(c.Tools, toolItem{toolSpec{call.Name, "Not available now.", schema{anyObject}}})
			}
		}
	}
	if len(c.Tools) == 0 {
		return nil
	}
	return &c
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

// unit brings a number into 0 to 1, which is what Converse takes.
func (m *Model) unit(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) {
		return nil
	}
	v := min(max(*f, 0), 1)
	return &v
}
