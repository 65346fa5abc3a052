package ollama

import (
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// wireMessage is a message of a request.
type wireMessage struct {
	Role, Content, Thinking string
	Images                  []string // base64
	ToolCalls               []event.ToolCall
	ToolName, ToolCallID    string
}

// Texts in place of images.
const (
	imageFollows = "(The image follows in the next message.)"
	imageOmitted = "(An image was left out: this model does not see images.)"
	imageRemote  = "(An image was left out: this server does not fetch images from addresses.)"
	imageFrom    = "(The image of the tool result above.)"
	noOutput     = "(no output)"
)

// written is the position in the history of a body. The images of a turn's
// results follow in one user message.
type written struct {
	begun  bool
	images string // base64, joined by commas
}

// writer writes messages for a model with these abilities.
type writer struct{ vision, thinks bool }

// write appends one message of a normalized history, as historycache.Writer.
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
		dst, w = w.put(dst, &out)
		return dst, w, nil
	case event.RoleAssistant:
		if o.thinks {
			out.Thinking = msg.ReasoningContent
		}
		out.ToolCalls = msg.ToolCalls
	default:
		out.Images = images
	}
	dst, w = w.flush(dst)
	dst, w = w.put(dst, &out)
	return dst, w, nil
}

// put appends a message.
func (w written) put(dst []byte, m *wireMessage) ([]byte, written) {
	if w.begun {
		dst = append(dst, ',')
	}
	w.begun = true
	return m.appendTo(dst), w
}

// flush writes the pending images.
func (w written) flush(dst []byte) ([]byte, written) {
	if w.images == "" {
		return dst, w
	}
	m := wireMessage{Role: "user", Content: imageFrom, Images: strings.Split(w.images, ",")}
	w.images = ""
	return w.put(dst, &m)
}

// appendTo appends the message's JSON without encoding/json, because a
// restarted server encodes whole histories at once.
func (m *wireMessage) appendTo(dst []byte) []byte {
	dst = historycache.AppendMember(dst, `{"role":`, m.Role)
	dst = historycache.AppendMember(dst, `,"content":`, m.Content)
	dst = optional(dst, `,"thinking":`, m.Thinking)
	for i, image := range m.Images {
		if i == 0 {
			dst = append(dst, `,"images":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = historycache.AppendString(dst, image)
	}
	if len(m.Images) > 0 {
		dst = append(dst, ']')
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		if i == 0 {
			dst = append(dst, `,"tool_calls":[{`...)
		} else {
			dst = append(dst, `,{`...)
		}
		if c.ID != "" {
			dst = append(historycache.AppendMember(dst, `"id":`, c.ID), ',')
		}
		dst = historycache.AppendMember(dst, `"function":{"name":`, c.Name)
		dst = append(append(append(dst, `,"arguments":`...), llm.ArgumentsText(c.Arguments)...), "}}"...)
	}
	if len(m.ToolCalls) > 0 {
		dst = append(dst, ']')
	}
	dst = optional(dst, `,"tool_name":`, m.ToolName)
	return append(optional(dst, `,"tool_call_id":`, m.ToolCallID), '}')
}

func optional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return historycache.AppendMember(dst, name, value)
}

// content returns the text of a message and its images.
func (o writer) content(msg *event.Message) (string, []string) {
	var images []string
	var room [4]string
	texts := room[:0]
	for i := range msg.Content {
		c := &msg.Content[i]
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
