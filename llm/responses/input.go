package responses

import (
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// The items of a request's input.
type (
	messageItem struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Content any    `json:"content"` // a string or []part
	}
	reasoningItem struct {
		Type             string `json:"type"`
		ID               string `json:"id,omitempty"`
		Summary          []part `json:"summary"`
		EncryptedContent string `json:"encrypted_content"`
	}
	outputItem struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output any    `json:"output"` // a string or []part
	}
	part struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitempty"`
		ImageURL string `json:"image_url,omitempty"`
		Detail   string `json:"detail,omitempty"`
	}
)

// Texts in place of missing content.
const (
	imageOmitted = "(An image was left out: this model does not see images.)"
	noOutput     = "(no output)"
)

// split separates the leading system messages of a history, which become the
// instructions. Later ones stay in the history.
func split(msgs []event.Message) (instructions string, rest []event.Message) {
	var system []string
	for len(msgs) > 0 && msgs[0].Role == event.RoleSystem {
		if text := event.JoinText(msgs[0].Content); text != "" {
			system = append(system, text)
		}
		msgs = msgs[1:]
	}
	return strings.Join(system, "\n"), msgs
}

// written reports whether the input already has an item.
type written bool

// writer writes messages for a model with refusals.
type writer struct {
	m     *Model
	known *refusals
}

// write appends one message of a normalized history, as historycache.Writer.
// The most frequent items are written without encoding/json, because a
// restarted server encodes whole histories at once.
func (o writer) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	text, plain := oneText(msg.Content)
	switch {
	case msg.Role == event.RoleAssistant:
		return o.assistant(dst, w, msg)
	case msg.Role == event.RoleTool && plain:
		dst = historycache.AppendMember(w.next(dst), `{"type":"function_call_output","call_id":`, msg.ToolCallID)
		return append(historycache.AppendMember(dst, `,"output":`, text), '}'), true, nil
	}
	dst, err := historycache.AppendJSON(w.next(dst), o.item(msg))
	return dst, true, err
}

// assistant appends the reasoning, the text and the calls of an assistant
// message.
func (o writer) assistant(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	text, plain := oneText(msg.Content)
	if !plain {
		text = event.JoinText(msg.Content)
	}
	withReasoning := o.sendsReasoning(msg, text)
	if withReasoning {
		item := reasoning(msg.ResponsesReasoningItem)
		if o.known.noIDs {
			item.ID = ""
		}
		var err error
		if dst, err = historycache.AppendJSON(w.next(dst), item); err != nil {
			return dst, w, err
		}
		w = true
	}
	if text != "" {
		dst = historycache.AppendMember(w.next(dst), `{"type":"message","role":"assistant","content":[{"type":"output_text","text":`, text)
		dst, w = append(dst, "}]}"...), true
	}
	for i := range msg.ToolCalls {
		c := &msg.ToolCalls[i]
		dst, w = append(w.next(dst), `{"type":"function_call"`...), true
		if withReasoning && !o.known.noIDs && strings.HasPrefix(c.ResponsesItemID, "fc") {
			dst = historycache.AppendMember(dst, `,"id":`, c.ResponsesItemID)
		}
		dst = historycache.AppendMember(dst, `,"call_id":`, c.ID)
		dst = historycache.AppendMember(dst, `,"name":`, c.Name)
		dst = append(historycache.AppendMember(dst, `,"arguments":`, llm.ArgumentsText(c.Arguments)), '}')
	}
	return dst, w, nil
}

// next begins an item.
func (w written) next(dst []byte) []byte {
	if w {
		return append(dst, ',')
	}
	return dst
}

// oneText returns the text of content that is nothing else.
func oneText(content []event.Content) (string, bool) {
	if len(content) == 1 && content[0].Type == event.TypeText && content[0].Text != "" {
		return content[0].Text, true
	}
	return "", false
}

// item returns the item of a message of another role.
func (o writer) item(msg *event.Message) any {
	switch msg.Role {
	case event.RoleSystem:
		return messageItem{"message", "developer", o.m.content(msg.Content)}
	case event.RoleTool:
		return outputItem{"function_call_output", msg.ToolCallID, o.m.content(msg.Content)}
	}
	return messageItem{"message", "user", o.m.content(msg.Content)}
}

// sendsReasoning reports whether the reasoning of a turn is sent back. Only
// then are ids of items sent: the API refuses an id whose reasoning is missing.
func (o writer) sendsReasoning(msg *event.Message, text string) bool {
	item := msg.ResponsesReasoningItem
	return item != nil && item.EncryptedContent != "" && o.m.info.Reasoning && !o.known.ids[item.ID] &&
		(text != "" || len(msg.ToolCalls) > 0)
}

func reasoning(r *event.ReasoningItem) reasoningItem {
	item := reasoningItem{Type: "reasoning", ID: r.ID, Summary: make([]part, 0, len(r.Summary)), EncryptedContent: r.EncryptedContent}
	for _, s := range r.Summary {
		item.Summary = append(item.Summary, part{Type: "summary_text", Text: s})
	}
	return item
}

// content writes blocks as one string if possible, else as parts.
func (m *Model) content(blocks []event.Content) any {
	parts := make([]part, 0, len(blocks))
	plain := true
	for _, c := range blocks {
		switch {
		case c.Type == event.TypeText && c.Text != "":
			parts = append(parts, part{Type: "input_text", Text: c.Text})
		case c.Type == event.TypeImage && !m.info.Vision && len(c.ImageURLs) > 0:
			parts = append(parts, part{Type: "input_text", Text: imageOmitted})
		case c.Type == event.TypeImage:
			for _, u := range c.ImageURLs {
				parts = append(parts, part{Type: "input_image", ImageURL: u, Detail: "auto"})
				plain = false
			}
		}
	}
	switch {
	case len(parts) == 0:
		return noOutput
	case len(parts) == 1 && plain:
		return parts[0].Text
	}
	return parts
}
