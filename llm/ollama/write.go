package ollama

import (
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/wirelog"
)

// wireMessage is a message of a request.
type wireMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Thinking   string     `json:"thinking,omitempty"`
	Images     []string   `json:"images,omitempty"` // base64
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolName   string     `json:"tool_name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string           `json:"id,omitempty"`
	Function wireCallFunction `json:"function"`
}

type wireCallFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// What stands where an image cannot.
const (
	imageFollows = "(The image follows in the next message.)"
	imageOmitted = "(An image was left out: this model does not see images.)"
	imageRemote  = "(An image was left out: this server does not fetch images from addresses.)"
	imageFrom    = "(The image of the tool result above.)"
	noOutput     = "(no output)"
)

// written is how far the history in a body is. The images of a turn's results
// wait and follow in one message of the user.
type written struct {
	begun  bool
	images string // base64, joined by commas
}

// writer writes messages for a model with these abilities.
type writer struct{ vision, thinks bool }

// write appends one message of a normalised history, as wirelog.Writer.
func (o writer) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	out := wireMessage{Role: string(msg.Role)}
	var images []string
	out.Content, images = o.content(msg)
	switch msg.Role {
	case event.RoleTool:
		out.ToolName, out.ToolCallID = msg.Name, msg.ToolCallID
		for _, i := range images {
			if w.images != "" {
				w.images += ","
			}
			w.images += i
		}
		return w.put(dst, &out)
	case event.RoleAssistant:
		if o.thinks {
			out.Thinking = msg.ReasoningContent
		}
		for _, c := range msg.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, wireCall{ID: c.ID, Function: wireCallFunction{c.Name, llm.ArgumentsObject(c.Arguments)}})
		}
	default:
		out.Images = images
	}
	dst, w, err := w.flush(dst)
	if err != nil {
		return dst, w, err
	}
	return w.put(dst, &out)
}

// put appends a message.
func (w written) put(dst []byte, m *wireMessage) ([]byte, written, error) {
	if w.begun {
		dst = append(dst, ',')
	}
	w.begun = true
	dst, err := wirelog.AppendJSON(dst, m)
	return dst, w, err
}

// flush writes the images that wait.
func (w written) flush(dst []byte) ([]byte, written, error) {
	if w.images == "" {
		return dst, w, nil
	}
	m := wireMessage{Role: "user", Content: imageFrom, Images: strings.Split(w.images, ",")}
	w.images = ""
	return w.put(dst, &m)
}

// content returns the text of a message and its images.
func (o writer) content(msg *event.Message) (string, []string) {
	var texts, images []string
	for _, c := range msg.Content {
		switch {
		case c.Type == event.TypeText && c.Text != "":
			texts = append(texts, c.Text)
		case c.Type == event.TypeImage && len(c.ImageURLs) > 0 && !o.vision:
			texts = append(texts, imageOmitted)
		case c.Type == event.TypeImage:
			for _, u := range c.ImageURLs {
				data, ok := inline(u)
				switch {
				case !ok:
					texts = append(texts, imageRemote)
				case msg.Role == event.RoleTool:
					texts = append(texts, imageFollows)
					fallthrough
				default:
					images = append(images, data)
				}
			}
		}
	}
	if len(texts) == 0 && len(images) == 0 && len(msg.ToolCalls) == 0 {
		texts = []string{noOutput}
	}
	return strings.Join(texts, "\n"), images
}

// inline returns the base64 data of a data URL.
func inline(u string) (string, bool) {
	head, data, ok := strings.Cut(u, ",")
	if !ok || !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64") || data == "" || strings.Contains(data, ",") {
		return "", false
	}
	return data, true
}
