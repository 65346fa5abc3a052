package bedrock

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// block is a content block of any kind that requests hold; one field is set.
type block struct {
	Text       string      `json:"text,omitempty"`
	Image      *image      `json:"image,omitempty"`
	ToolUse    *toolUse    `json:"toolUse,omitempty"`
	ToolResult *toolResult `json:"toolResult,omitempty"`
	Reasoning  *reasoning  `json:"reasoningContent,omitempty"`
	CachePoint *cachePoint `json:"cachePoint,omitempty"`
}

type image struct {
	Format string      `json:"format"`
	Source imageSource `json:"source"`
}

type imageSource struct {
	Bytes string `json:"bytes"` // base64
}

type toolUse struct {
	ToolUseID string          `json:"toolUseId"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input,omitempty"`
}

type toolResult struct {
	ToolUseID string  `json:"toolUseId"`
	Content   []block `json:"content"`
}

// reasoning is a thought; redacted ones are bytes in base64.
type reasoning struct {
	Text     *reasoningText `json:"reasoningText,omitempty"`
	Redacted string         `json:"redactedContent,omitempty"`
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

type cachePoint struct {
	Type string `json:"type"`
}

const (
	maxID        = 64 // bytes of the id of a call
	imageOmitted = "(An image was left out: this model does not see images.)"
	imageBroken  = "(An image was left out: only PNG, JPEG, GIF and WebP as base64 data can be sent.)"
	goOn         = "Continue."
	noOutput     = "(no output)"
)

func (m *Model) assistant(msg *event.Message) []block {
	blocks := thoughts(msg)
	said := len(blocks)
	for _, b := range m.blocks(msg.Content) {
		if b.Image == nil { // the API takes no images from the assistant
			blocks = append(blocks, b)
		}
	}
	for _, c := range msg.ToolCalls {
		blocks = append(blocks, block{ToolUse: &toolUse{callID(c.ID), c.Name, llm.ArgumentsObject(c.Arguments)}})
	}
	if len(blocks) == said {
		return nil // nothing but thoughts: the API refuses that
	}
	return blocks
}

// thoughts returns the thoughts that can be sent back: those that the model
// itself signed. Its signatures are base64; what other providers left there
// often is not.
func thoughts(msg *event.Message) []block {
	var out []block
	for _, b := range msg.ThinkingBlocks {
		switch {
		case b.Type == event.TypeRedacted:
			if isBase64(b.Data) {
				out = append(out, block{Reasoning: &reasoning{Redacted: b.Data}})
			}
		case isBase64(b.Signature):
			out = append(out, block{Reasoning: &reasoning{Text: &reasoningText{b.Thinking, b.Signature}}})
		}
	}
	return out
}

func isBase64(s string) bool {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_"
	return s != "" && strings.Trim(s, alphabet) == ""
}

// result writes the answer to a call. A cache point stands behind it, not
// inside.
func (m *Model) result(msg *event.Message) []block {
	r := &toolResult{ToolUseID: callID(msg.ToolCallID)}
	var point []block
	for _, b := range m.blocks(msg.Content) {
		if b.CachePoint != nil {
			point = []block{b}
		} else {
			r.Content = append(r.Content, b)
		}
	}
	if len(r.Content) == 0 {
		r.Content = []block{{Text: noOutput}}
	}
	return append([]block{{ToolResult: r}}, point...)
}

// blocks writes content. Blank texts are left out: the API refuses them.
func (m *Model) blocks(content []event.Content) []block {
	var out []block
	for _, c := range content {
		before := len(out)
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
			out = append(out, block{CachePoint: &cachePoint{"default"}})
		}
	}
	return out
}

// formats are the images that the API takes, by media type.
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
	return block{Image: &image{format, imageSource{data}}}
}

// callID makes an id one that the API takes: letters, digits, _ and -, at most
// 64 of them. A longer one keeps its beginning and ends with a hash of it all.
func callID(id string) string {
	id = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, id)
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	tail := "_" + hex.EncodeToString(sum[:10])
	return id[:maxID-len(tail)] + tail
}
