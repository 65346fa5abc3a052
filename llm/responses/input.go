package responses

import (
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/wirelog"
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
	callItem   struct{ ID, CallID, Name, Arguments string }
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

// What stands where something cannot.
const (
	imageOmitted = "(An image was left out: this model does not see images.)"
	noOutput     = "(no output)"
)

// split takes the system messages at the begin of a history off: they are the
// instructions. Later ones stay where they are.
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

// written says whether the input has an item already.
type written bool

// writer writes messages for a model that refused some reasoning.
type writer struct {
	m     *Model
	known *refusals
}

// write appends one message of a normalised history, as wirelog.Writer.
func (o writer) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	var room [4]any
	for _, item := range o.items(room[:0], msg) {
		if w {
			dst = append(dst, ',')
		}
		w = true
		var err error
		if dst, err = appendItem(dst, item); err != nil {
			return dst, w, err
		}
	}
	return dst, w, nil
}

// appendItem appends an item's JSON. The two kinds that long histories are made
// of go by hand, because a restarted server writes whole histories at once.
func appendItem(dst []byte, item any) ([]byte, error) {
	switch i := item.(type) {
	case callItem:
		dst = append(dst, `{"type":"function_call"`...)
		if i.ID != "" {
			dst = wirelog.AppendString(append(dst, `,"id":`...), i.ID)
		}
		dst = wirelog.AppendString(append(dst, `,"call_id":`...), i.CallID)
		dst = wirelog.AppendString(append(dst, `,"name":`...), i.Name)
		dst = wirelog.AppendString(append(dst, `,"arguments":`...), i.Arguments)
		return append(dst, '}'), nil
	case outputItem:
		text, ok := i.Output.(string)
		if !ok {
			break
		}
		dst = wirelog.AppendString(append(dst, `{"type":"function_call_output","call_id":`...), i.CallID)
		dst = wirelog.AppendString(append(dst, `,"output":`...), text)
		return append(dst, '}'), nil
	}
	return wirelog.AppendJSON(dst, item)
}

func (o writer) items(items []any, msg *event.Message) []any {
	switch msg.Role {
	case event.RoleSystem:
		return append(items, messageItem{"message", "developer", o.m.content(msg.Content)})
	case event.RoleAssistant:
		return o.assistant(items, msg)
	case event.RoleTool:
		return append(items, outputItem{"function_call_output", msg.ToolCallID, o.m.content(msg.Content)})
	}
	return append(items, messageItem{"message", "user", o.m.content(msg.Content)})
}

// assistant writes what the model said. Ids of items are sent only where the
// reasoning that they belong to is sent too: the API refuses an id whose
// reasoning is missing.
func (o writer) assistant(items []any, msg *event.Message) []any {
	text := event.JoinText(msg.Content)
	thought := msg.ResponsesReasoningItem
	echoed := thought != nil && thought.EncryptedContent != "" && o.m.info.Reasoning && !o.known.ids[thought.ID] &&
		(text != "" || len(msg.ToolCalls) > 0)
	if echoed {
		item := reasoning(thought)
		if o.known.noIDs {
			item.ID = ""
		}
		items = append(items, item)
	}
	if text != "" {
		items = append(items, messageItem{"message", "assistant", []part{{Type: "output_text", Text: text}}})
	}
	for _, c := range msg.ToolCalls {
		item := callItem{CallID: c.ID, Name: c.Name, Arguments: llm.ArgumentsText(c.Arguments)}
		if echoed && !o.known.noIDs && strings.HasPrefix(c.ResponsesItemID, "fc") {
			item.ID = c.ResponsesItemID
		}
		items = append(items, item)
	}
	return items
}

func reasoning(r *event.ReasoningItem) reasoningItem {
	item := reasoningItem{Type: "reasoning", ID: r.ID, Summary: make([]part, 0, len(r.Summary)), EncryptedContent: r.EncryptedContent}
	for _, s := range r.Summary {
		item.Summary = append(item.Summary, part{Type: "summary_text", Text: s})
	}
	return item
}

// content writes blocks as a string where one does, else as parts.
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
