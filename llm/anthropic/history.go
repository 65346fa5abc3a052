package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// wireMessage is a message of a request.
type wireMessage struct {
	Role    string   `json:"role"`
	Content []*block `json:"content"`
}

// block is a content block of any kind that requests hold.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Source       *source         `json:"source,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      []*block        `json:"content,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"`
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

const (
	maxMarks     = 4 // cache marks per request
	imageOmitted = "(An image was left out: this model does not see images.)"
	imageBroken  = "(An image was left out: its URL is neither https nor base64 data.)"
	goOn         = "Continue."
)

// history writes a normalised history: the leading system messages apart, the
// others in turns that alternate, tool results first in theirs.
func (m *Model) history(msgs []event.Message) (system []*block, out []wireMessage) {
	for len(msgs) > 0 && msgs[0].Role == event.RoleSystem {
		system = append(system, m.blocks(msgs[0].Content)...)
		msgs = msgs[1:]
	}
	for i := range msgs {
		msg := &msgs[i]
		role, blocks := "user", []*block(nil)
		switch msg.Role {
		case event.RoleAssistant:
			role, blocks = "assistant", m.assistant(msg)
		case event.RoleTool:
			blocks = []*block{m.toolResult(msg)}
		default: // a later system message has no other place
			blocks = m.blocks(msg.Content)
		}
		if len(blocks) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		}
		out = append(out, wireMessage{Role: role, Content: blocks})
	}
	// Newer models refuse a history that ends with the assistant's words.
	if n := len(out); n > 0 && out[n-1].Role == "assistant" {
		out = append(out, wireMessage{Role: "user", Content: []*block{{Type: "text", Text: goOn}}})
	}
	return textOnly(system), out
}

func (m *Model) assistant(msg *event.Message) []*block {
	blocks := thinkingBlocks(msg)
	for _, b := range m.blocks(msg.Content) {
		if b.Type == "text" { // the API takes no images from the assistant
			blocks = append(blocks, b)
		}
	}
	for _, c := range msg.ToolCalls {
		blocks = append(blocks, &block{Type: "tool_use", ID: cleanID(c.ID), Name: c.Name, Input: llm.ArgumentsObject(c.Arguments)})
	}
	if last := len(blocks) - 1; last >= 0 && strings.HasSuffix(blocks[last].Type, "thinking") {
		return nil // nothing but thoughts: the API refuses that
	}
	return blocks
}

// thinkingBlocks returns the thoughts that can be sent back: those that the
// API itself signed.
func thinkingBlocks(msg *event.Message) []*block {
	var out []*block
	for i := range msg.ThinkingBlocks {
		switch b := &msg.ThinkingBlocks[i]; {
		case b.Type == "thinking" && b.Signature != "":
			out = append(out, &block{Type: b.Type, Thinking: &b.Thinking, Signature: b.Signature})
		case b.Type == "redacted_thinking" && b.Data != "":
			out = append(out, &block{Type: b.Type, Data: b.Data})
		}
	}
	return out
}

func (m *Model) toolResult(msg *event.Message) *block {
	b := &block{Type: "tool_result", ToolUseID: cleanID(msg.ToolCallID), Content: m.blocks(msg.Content)}
	// The mark belongs on the outermost block.
	for _, c := range b.Content {
		if c.CacheControl != nil {
			b.CacheControl, c.CacheControl = c.CacheControl, nil
		}
	}
	return b
}

// blocks writes content. Blank texts are left out: the API refuses them.
func (m *Model) blocks(content []event.Content) []*block {
	var out []*block
	for _, c := range content {
		before := len(out)
		switch c.Type {
		case event.TypeText:
			if strings.TrimSpace(c.Text) != "" {
				out = append(out, &block{Type: "text", Text: c.Text})
			}
		case event.TypeImage:
			for _, u := range c.ImageURLs {
				out = append(out, m.image(u))
			}
		}
		if c.CachePrompt && len(out) > before {
			out[len(out)-1].CacheControl = &cacheControl{"ephemeral"}
		}
	}
	return out
}

func (m *Model) image(url string) *block {
	if !m.info.Vision {
		return &block{Type: "text", Text: imageOmitted}
	}
	if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		return &block{Type: "image", Source: &source{Type: "url", URL: url}}
	}
	head, data, ok := strings.Cut(url, ",")
	media, isData := strings.CutPrefix(head, "data:")
	media, isBase64 := strings.CutSuffix(media, ";base64")
	if !ok || !isData || !isBase64 || data == "" {
		return &block{Type: "text", Text: imageBroken}
	}
	media, _, _ = strings.Cut(media, ";") // parameters such as a file name
	if media == "image/jpg" {
		media = "image/jpeg"
	}
	return &block{Type: "image", Source: &source{Type: "base64", MediaType: media, Data: data}}
}

// textOnly drops what a system prompt may not hold.
func textOnly(blocks []*block) []*block {
	out := blocks[:0]
	for _, b := range blocks {
		if b.Type == "text" {
			out = append(out, b)
		}
	}
	return out
}

// limitMarks keeps the first cache mark, which holds the system prompt and the
// tools, and the last three, which are where the conversation grows.
func limitMarks(system []*block, msgs []wireMessage) {
	var marked []*block
	collect := func(blocks []*block) {
		for _, b := range blocks {
			if b.CacheControl != nil {
				marked = append(marked, b)
			}
		}
	}
	collect(system)
	for _, m := range msgs {
		collect(m.Content)
	}
	for i := 1; i < len(marked)-(maxMarks-1); i++ {
		marked[i].CacheControl = nil
	}
}

// cleanID replaces what the API does not take in an id: other providers' ids
// may hold dots, colons or anything else.
func cleanID(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, id)
}
