package anthropic

import (
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// block is a content block of a request, of any kind; appendTo writes the
// fields of each kind.
type block struct {
	Type      string
	Text      string
	Source    source
	ID        string // of a call, also in its result
	Name      string
	Input     string // JSON
	Content   []block
	Thinking  string
	Signature string
	Data      string
	Mark      bool // cache up to here
}

// source is an image: a URL or data.
type source struct {
	MediaType, Data, URL string
}

const (
	imageOmitted = "(An image was left out: this model does not see images.)"
	imageBroken  = "(An image was left out: its URL is neither https nor base64 data.)"
	goOn         = "Continue."
)

// assistant appends the blocks of a turn of the model.
func (m *Model) assistant(blocks []block, msg *event.Message) []block {
	blocks = thinkingBlocks(blocks, msg)
	for i := range msg.Content {
		if msg.Content[i].Type == event.TypeText { // the API takes no images from the assistant
			blocks = m.blocks(blocks, msg.Content[i:i+1])
		}
	}
	for _, c := range msg.ToolCalls {
		blocks = append(blocks, block{Type: "tool_use", ID: historycache.SafeID(c.ID), Name: c.Name, Input: llm.ArgumentsText(c.Arguments)})
	}
	if last := len(blocks) - 1; last >= 0 && strings.HasSuffix(blocks[last].Type, "thinking") {
		return nil // the API refuses messages with thinking only
	}
	return blocks
}

// hasThinking reports whether a turn begins with thinking.
func hasThinking(blocks []block) bool {
	return len(blocks) > 0 && strings.HasSuffix(blocks[0].Type, "thinking")
}

// thinkingBlocks appends the thinking blocks that can be sent back: those
// signed by this API.
func thinkingBlocks(out []block, msg *event.Message) []block {
	for i := range msg.ThinkingBlocks {
		switch b := &msg.ThinkingBlocks[i]; {
		case b.Type == "thinking" && historycache.IsBase64(b.Signature):
			out = append(out, block{Type: b.Type, Thinking: b.Thinking, Signature: b.Signature})
		case b.Type == "redacted_thinking" && historycache.IsBase64(b.Data):
			out = append(out, block{Type: b.Type, Data: b.Data})
		}
	}
	return out
}

func (m *Model) toolResult(msg *event.Message) block {
	b := block{Type: "tool_result", ID: historycache.SafeID(msg.ToolCallID), Content: m.blocks(nil, msg.Content)}
	// The mark belongs on the outermost block.
	for i := range b.Content {
		b.Mark = b.Mark || b.Content[i].Mark
		b.Content[i].Mark = false
	}
	return b
}

// blocks appends content without blank texts, which the API refuses.
func (m *Model) blocks(out []block, content []event.Content) []block {
	for i := range content {
		c, before := &content[i], len(out)
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
