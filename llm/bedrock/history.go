package bedrock

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// block is a content block of a request, of any kind; appendTo writes the
// fields of each kind.
type block struct {
	Kind    kind
	Text    string // also of reasoning
	Format  string // of an image
	Data    string // base64
	ID      string // of a call, also in its result
	Name    string
	Input   string  // JSON
	Content []block // of a result
}

type kind int

const (
	textBlock kind = iota
	imageBlock
	useBlock
	resultBlock
	reasoningBlock // Data is its signature
	redactedBlock  // of bytes
	cacheBlock
)

const (
	maxID        = 64 // bytes of the id of a call
	imageOmitted = "(An image was left out: this model does not see images.)"
	imageBroken  = "(An image was left out: only PNG, JPEG, GIF and WebP as base64 data can be sent.)"
	goOn         = "Continue."
	noOutput     = "(no output)"
)

func (m *Model) assistant(blocks []block, msg *event.Message) []block {
	blocks = reasoningBlocks(blocks, msg)
	textEnd := len(blocks)
	blocks = m.blocks(blocks, msg.Content)
	if textEnd < len(blocks) { // the API takes no images from the assistant
		blocks = append(blocks[:textEnd], slices.DeleteFunc(blocks[textEnd:], func(b block) bool { return b.Kind == imageBlock })...)
	}
	for i := range msg.ToolCalls {
		c := &msg.ToolCalls[i]
		blocks = append(blocks, block{Kind: useBlock, ID: callID(c.ID), Name: c.Name, Input: llm.ArgumentsText(c.Arguments)})
	}
	if len(blocks) == textEnd {
		return nil // the API refuses messages with reasoning only
	}
	return blocks
}

// hasThinking reports whether a turn begins with thinking.
func hasThinking(blocks []block) bool {
	return len(blocks) > 0 && (blocks[0].Kind == reasoningBlock || blocks[0].Kind == redactedBlock)
}

// reasoningBlocks appends the reasoning that can be sent back: signed by this model,
// with a base64 signature. Signatures of other providers often are not base64.
func reasoningBlocks(out []block, msg *event.Message) []block {
	for i := range msg.ThinkingBlocks {
		switch b := &msg.ThinkingBlocks[i]; {
		case b.Type == event.TypeRedacted:
			if historycache.IsBase64(b.Data) {
				out = append(out, block{Kind: redactedBlock, Data: b.Data})
			}
		case historycache.IsBase64(b.Signature):
			out = append(out, block{Kind: reasoningBlock, Text: b.Thinking, Data: b.Signature})
		}
	}
	return out
}

// result appends the result of a call. A cache point is placed after it, not
// inside.
func (m *Model) result(blocks []block, msg *event.Message) []block {
	content, marked := m.blocks(make([]block, 0, len(msg.Content)+1), msg.Content), false
	content = slices.DeleteFunc(content, func(b block) bool {
		marked = marked || b.Kind == cacheBlock
		return b.Kind == cacheBlock
	})
	if len(content) == 0 {
		content = append(content, block{Text: noOutput})
	}
	blocks = append(blocks, block{Kind: resultBlock, ID: callID(msg.ToolCallID), Content: content})
	if marked {
		blocks = append(blocks, block{Kind: cacheBlock})
	}
	return blocks
}

// blocks appends content without blank texts, which the API refuses.
func (m *Model) blocks(out []block, content []event.Content) []block {
	for i := range content {
		c, before := &content[i], len(out)
		switch c.Type {
		case event.TypeImage:
			for _, u := range c.ImageURLs {
				out = append(out, m.image(u))
			}
		default:
			if strings.TrimSpace(c.Text) != "" {
				out = append(out, block{Text: c.Text})
			}
		}
		if c.CachePrompt && m.info.PromptCache && len(out) > before {
			out = append(out, block{Kind: cacheBlock})
		}
	}
	return out
}

// formats are the supported images, by media type.
var formats = map[string]string{
	"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp",
}

func (m *Model) image(url string) block {
	if !m.info.Vision {
		return block{Text: imageOmitted}
	}
	head, data, ok := strings.Cut(url, ",")
	media, isData := strings.CutPrefix(head, "data:")
	media, isBase64 := strings.CutSuffix(media, ";base64")
	media, _, _ = strings.Cut(media, ";") // parameters such as a file name
	format := formats[media]
	if !ok || !isData || !isBase64 || data == "" || format == "" {
		return block{Text: imageBroken}
	}
	return block{Kind: imageBlock, Format: format, Data: data}
}

// callID returns an id that the API accepts: at most 64 letters, digits, _ and
// -. A longer one keeps its beginning and ends with a hash of the whole.
func callID(id string) string {
	if id = historycache.SafeID(id); len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	tail := "_" + hex.EncodeToString(sum[:10])
	return id[:maxID-len(tail)] + tail
}
