package bedrock

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/wirelog"
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

// wireRequest is the body of a request without system and messages, which
// written writes; after
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
type wireRequest struct {
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
	msgs := limitMarks(llm.Normalize(r.Messages))
	var w wireRequest
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
	body, err := wirelog.AppendJSON(nil, &w)
	if err != nil {
		return nil, m.unwritten(err)
	}
	body = body[:len(body)-1] // the history goes on inside the object
	if len(body) > 1 {
		body = append(body, ',')
	}
	body, end, err := m.sent.Append(body, r.Session, "", msgs, m.write)
	if err != nil {
		return nil, m.unwritten(err)
	}
	if !end.messages {
		return nil, m.end.Fail(fault.Invalid, "there is no message to answer")
	}
	if body, err = end.finish(body); err != nil {
		return nil, m.unwritten(err)
	}
	return append(body, '}'), nil
}

func (m *Model) unwritten(err error) error {
	return llm.NewError(fault.Invalid, m.info.Provider, m.info.Name, "the request cannot be written as JSON", err)
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
	// A look at the lengths alone mostly settles it.
	if want+joinMargin+atMost(r) <= m.info.ContextWindow {
		return want
	}
	room := m.info.ContextWindow - joinMargin - llm.EstimateTokens(r.Messages, r.Tools)
	return min(want, max(room, leastJoint))
}

// atMost is no less than llm.EstimateTokens makes of a request: no kind of valid
// text takes more than half a token to the byte there.
func atMost(r *llm.Request) int {
	const perItem, perImage = 16, 2_000
	n := 0
	for i := range r.Messages {
		msg := &r.Messages[i]
		n += perItem + len(msg.ReasoningContent)/2
		for k := range msg.Content {
			n += perItem + len(msg.Content[k].Text)/2 + perImage*len(msg.Content[k].ImageURLs)
		}
		for k := range msg.ToolCalls {
			n += perItem + (len(msg.ToolCalls[k].Name)+len(msg.ToolCalls[k].Arguments))/2
		}
		for k := range msg.ThinkingBlocks {
			n += perItem + (len(msg.ThinkingBlocks[k].Thinking)+len(msg.ThinkingBlocks[k].Data))/2
		}
	}
	for i := range r.Tools {
		n += perItem + (len(r.Tools[i].Name)+len(r.Tools[i].Description)+len(r.Tools[i].Parameters))/2
	}
	return n
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
