package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// block is a content block of any kind that requests hold; appendTo knows
// which fields each kind has.
type block struct {
	Type      string
	Text      string
	Source    source
	ID        string // of a call, also in its result
	Name      string
	Input     json.RawMessage
	Content   []block
	Thinking  string
	Signature string
	Data      string
	Mark      bool // cache up to here
}

// source is where an image comes from: a URL or data.
type source struct {
	MediaType, Data, URL string
}

const (
	imageOmitted = "(An image was left out: this model does not see images.)"
	imageBroken  = "(An image was left out: its URL is neither https nor base64 data.)"
	goOn         = "Continue."
)

func (m *Model) assistant(msg *event.Message) []block {
	blocks := thinkingBlocks(msg)
	for _, b := range m.blocks(msg.Content) {
		if b.Type == "text" { // the API takes no images from the assistant
			blocks = append(blocks, b)
		}
	}
	for _, c := range msg.ToolCalls {
		blocks = append(blocks, block{Type: "tool_use", ID: cleanID(c.ID), Name: c.Name, Input: llm.ArgumentsObject(c.Arguments)})
	}
	if last := len(blocks) - 1; last >= 0 && strings.HasSuffix(blocks[last].Type, "thinking") {
		return nil // nothing but thoughts: the API refuses that
	}
	return blocks
}

// thinkingBlocks returns the thoughts that can be sent back: those that the
// API itself signed.
func thinkingBlocks(msg *event.Message) []block {
	var out []block
	for i := range msg.ThinkingBlocks {
		switch b := &msg.ThinkingBlocks[i]; {
		case b.Type == "thinking" && b.Signature != "":
			out = append(out, block{Type: b.Type, Thinking: b.Thinking, Signature: b.Signature})
		case b.Type == "redacted_thinking" && b.Data != "":
			out = append(out, block{Type: b.Type, Data: b.Data})
		}
	}
	return out
}

func (m *Model) toolResult(msg *event.Message) block {
	b := block{Type: "tool_result", ID: cleanID(msg.ToolCallID), Content: m.blocks(msg.Content)}
	// The mark belongs on the outermost block.
	for i := range b.Content {
		b.Mark = b.Mark || b.Content[i].Mark
		b.Content[i].Mark = false
	}
	return b
}

// blocks writes content. Blank texts are left out: the API refuses them.
func (m *Model) blocks(content []event.Content) []block {
	var out []block
	for _, c := range content {
		before := len(out)
		switch c.Type {
		case event.TypeText:
			if strings.TrimSpace(c.Text) != "" {
				out = append(out, block{Type: "text", Text: c.Text})
			}
		case event.TypeImage:
			for _, u := range c.ImageURLs {
				out = append(out, m.image(u))
			}
		}
		if c.CachePrompt && len(out) > before {
			out[len(out)-1].Mark = true
		}
	}
	return out
}

func (m *Model) image(url string) block {
	if !m.info.Vision {
		return block{Type: "text", Text: imageOmitted}
	}
	if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		return block{Type: "image", Source: source{URL: url}}
	}
	head, data, ok := strings.Cut(url, ",")
	media, isData := strings.CutPrefix(head, "data:")
	media, isBase64 := strings.CutSuffix(media, ";base64")
	if !ok || !isData || !isBase64 || data == "" {
		return block{Type: "text", Text: imageBroken}
	}
	media, _, _ = strings.Cut(media, ";") // parameters such as a file name
	if media == "image/jpg" {
		media = "image/jpeg"
	}
	return block{Type: "image", Source: source{MediaType: media, Data: data}}
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
