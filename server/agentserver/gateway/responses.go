package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// responsesRequest is a request of the Responses API.
type responsesRequest struct {
	Model        string            `json:"model"`
	Input        input             `json:"input"`
	Instructions *string           `json:"instructions"`
	Previous     string            `json:"previous_response_id"`
	Store        bool              `json:"store"`
	Stream       bool              `json:"stream"`
	Metadata     map[string]string `json:"metadata"`
}

var responsesSchema = spec.Reference("OpenAIResponseRequest", schema.Object{})

// input is a text, or messages.
type input struct {
	text     *string
	messages []chatMessage
}

// UnmarshalJSON implements [json.Unmarshaler].
func (in *input) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, &in.text)
	}
	return json.Unmarshal(b, &in.messages)
}

// refused returns the error for features that the gateway lacks.
func (q responsesRequest) refused() error {
	switch {
	case q.Stream:
		return rest.Fail(http.StatusBadRequest, "Streaming responses are not supported yet")
	case q.Store:
		return rest.Fail(http.StatusBadRequest, "Persistent response storage (store=True) is not supported yet")
	case q.Previous != "":
		return rest.Fail(http.StatusBadRequest, "previous_response_id is not supported; replay input items instead")
	}
	return nil
}

var inputTexts = []string{"input_text", "output_text"}

// read turns the input into a request. Several messages become one, each between
// tags with its role.
func (q responsesRequest) read() (req Request, err error) {
	var system []string
	if q.Instructions != nil {
		system = append(system, strings.TrimSpace(*q.Instructions))
	}
	if q.Input.text != nil {
		if *q.Input.text == "" {
			return req, rest.Fail(http.StatusBadRequest, "Responses input must not be empty")
		}
		return Request{System: joined(system), Content: []event.Content{event.Text(*q.Input.text)}}, nil
	}
	asked := false
	type said struct {
		role   string
		blocks []event.Content
	}
	var others []said
	for _, m := range q.Input.messages {
		blocks, err := m.Content.blocks(inputTexts, "input_image")
		if err != nil {
			return req, err
		}
		if m.Role == "system" || m.Role == "developer" {
			system = append(system, textOf(blocks))
			continue
		}
		asked = asked || m.Role == "user"
		others = append(others, said{m.Role, blocks})
	}
	if !asked {
		return req, rest.Fail(http.StatusBadRequest, "Responses input must include a user message")
	}
	req.System = joined(system)
	if len(others) == 1 {
		req.Content = others[0].blocks
		return req, nil
	}
	for _, m := range others {
		req.Content = append(req.Content, event.Text(`<message role="`+m.role+`">`))
		req.Content = append(append(req.Content, m.blocks...), event.Text("</message>"))
	}
	return req, nil
}

// joined joins the texts that are not empty.
func joined(texts []string) string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return strings.Join(out, "\n\n")
}

type outputText struct {
	Annotations []any  `json:"annotations"`
	Text        string `json:"text"`
	Type        string `json:"type"`
}

type outputMessage struct {
	ID      string       `json:"id"`
	Content []outputText `json:"content"`
	Role    string       `json:"role"`
	Status  string       `json:"status"`
	Type    string       `json:"type"`
}

type responseUsage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

type response struct {
	ID                string            `json:"id"`
	CreatedAt         float64           `json:"created_at"`
	CompletedAt       float64           `json:"completed_at"`
	Instructions      *string           `json:"instructions,omitempty"`
	Metadata          map[string]string `json:"metadata,omitempty"`
	Model             string            `json:"model"`
	Object            string            `json:"object"`
	Output            []outputMessage   `json:"output"`
	ParallelToolCalls bool              `json:"parallel_tool_calls"`
	Status            string            `json:"status"`
	ToolChoice        string            `json:"tool_choice"`
	Tools             []any             `json:"tools"`
	Usage             responseUsage     `json:"usage"`
}

func (s *Service) responses(w http.ResponseWriter, r *http.Request) error {
	var body responsesRequest
	if err := rest.Read(r, responsesSchema, &body); err != nil {
		return err
	}
	if err := body.refused(); err != nil {
		return err
	}
	if err := rest.CheckObservability(r, false); err != nil {
		return err
	}
	req, err := body.read()
	if err != nil {
		return err
	}
	began := now()
	id, out, err := s.ask(r.Context(), body.Model, req)
	if err != nil {
		return err
	}
	w.Header().Set(IDHeader, id)
	u := responseUsage{Input: out.Usage.Prompt, Output: out.Usage.Completion, Total: out.Usage.Prompt + out.Usage.Completion}
	u.InputDetails.Cached, u.OutputDetails.Reasoning = out.Usage.Cached, out.Usage.Reasoning
	return rest.JSON(w, http.StatusOK, response{
		ID: "resp_" + rest.ErrorID(), CreatedAt: began, CompletedAt: now(), Instructions: body.Instructions,
		Metadata: body.Metadata, Model: body.Model, Object: "response", Status: "completed", ToolChoice: "none", Tools: []any{},
		Output: []outputMessage{{
			ID: "msg_" + rest.ErrorID(), Role: "assistant", Status: "completed", Type: "message",
			Content: []outputText{{Annotations: []any{}, Text: out.Text, Type: "output_text"}},
		}},
		Usage: u,
	})
}

// now is the time in seconds.
func now() float64 { return float64(time.Now().UnixMicro()) / 1e6 }
