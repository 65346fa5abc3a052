package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// chatRequest is a request of the Chat Completions API. Other fields are ignored.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

var chatSchema = spec.Reference("OpenAIChatCompletionRequest", schema.Object{})

type chatMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a text, or parts.
type content []part

// part is one of the content of either API.
type part struct {
	Type     string   `json:"type"`
	Text     string   `json:"text"`
	ImageURL imageURL `json:"image_url"`
}

// imageURL is a text, or an object with it.
type imageURL string

// UnmarshalJSON implements [json.Unmarshaler].
func (u *imageURL) UnmarshalJSON(b []byte) error {
	var o struct {
		URL string `json:"url"`
	}
	if b[0] == '{' {
		err := json.Unmarshal(b, &o)
		*u = imageURL(o.URL)
		return err
	}
	return json.Unmarshal(b, (*string)(u))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		*c = content{{Type: "text"}}
		return json.Unmarshal(b, &(*c)[0].Text)
	}
	return json.Unmarshal(b, (*[]part)(c))
}

// blocks converts the parts to content blocks. texts are the types of texts beside
// "text", image is the type of images.
func (c content) blocks(texts []string, image string) ([]event.Content, error) {
	var out []event.Content
	for _, p := range c {
		switch {
		case p.Type == "text" || slices.Contains(texts, p.Type):
			if p.Text != "" {
				out = append(out, event.Text(p.Text))
			}
		case p.Type != image:
			return nil, rest.Fail(http.StatusBadRequest, "Unsupported content part type: "+p.Type)
		case p.ImageURL == "":
			return nil, rest.Fail(http.StatusBadRequest, p.Type+" content part is missing a url")
		default:
			out = append(out, event.Image(string(p.ImageURL)))
		}
	}
	return out, nil
}

// textOf joins the texts.
func textOf(blocks []event.Content) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == event.TypeText {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// read turns a chat into a request: the last message of the user, and the system
// messages. The agent has the rest of the conversation.
func (c chatRequest) read() (req Request, err error) {
	var system []string
	asked := false
	for _, m := range c.Messages {
		blocks, err := m.Content.blocks(nil, "image_url")
		switch m.Role {
		case "user":
			if req.Content, asked = blocks, true; err != nil {
				return req, err
			}
		case "system", "developer":
			if err != nil {
				return req, err
			}
			if text := textOf(blocks); text != "" {
				system = append(system, text)
			}
		}
	}
	if !asked {
		return req, rest.Fail(http.StatusBadRequest, "At least one user message is required")
	}
	req.System = joined(system)
	return req, nil
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type delta struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
}

type choice struct {
	Index        int      `json:"index"`
	Message      *message `json:"message,omitempty"`
	Delta        *delta   `json:"delta,omitempty"`
	FinishReason *string  `json:"finish_reason"`
}

type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

func (s *Service) chat(w http.ResponseWriter, r *http.Request) error {
	var body chatRequest
	if err := rest.Read(r, chatSchema, &body); err != nil {
		return err
	}
	id, err := conversationID(r)
	if err != nil {
		return err
	}
	if err := rest.CheckObservability(r, false); err != nil {
		return err
	}
	req, err := body.read()
	if err != nil {
		return err
	}
	req.ID = id
	id, out, err := s.ask(r.Context(), body.Model, req)
	if err != nil {
		return err
	}
	w.Header().Set(IDHeader, id)
	u := usage{out.Usage.Prompt, out.Usage.Completion, out.Usage.Prompt + out.Usage.Completion}
	c := completion{ID: "chatcmpl-" + rest.ErrorID(), Object: "chat.completion", Created: time.Now().Unix(), Model: body.Model}
	if body.Stream {
		return stream(w, c, out.Text, u, body.StreamOptions.IncludeUsage)
	}
	stop := "stop"
	c.Choices, c.Usage = []choice{{Message: &message{"assistant", out.Text}, FinishReason: &stop}}, &u
	return rest.JSON(w, http.StatusOK, c)
}

// stream sends the answer as server-sent events (OpenAI's API reference,
// "chat.completion.chunk").
func stream(w http.ResponseWriter, c completion, text string, u usage, withUsage bool) error {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	c.Object = "chat.completion.chunk"
	stop := "stop"
	chunks := [][]choice{
		{{Delta: &delta{Role: "assistant"}}}, {{Delta: &delta{Content: text}}}, {{Delta: &delta{}, FinishReason: &stop}},
	}
	if withUsage {
		chunks = append(chunks, []choice{})
	}
	for _, choices := range chunks {
		if c.Choices = choices; len(choices) == 0 {
			c.Usage = &u
		}
		raw, err := json.Marshal(c)
		if err == nil {
			_, err = w.Write(append(append([]byte("data: "), raw...), "\n\n"...))
		}
		if err != nil {
			return rest.ErrBroken
		}
	}
	if _, err := w.Write([]byte("data: [DONE]\n\n")); err != nil {
		return rest.ErrBroken
	}
	return nil
}
