package openai

import (
	"crypto/sha256"
	"strings"

	"github.com/deft-dev/deft/event"
)

// wireMessage is a message of a request. Its content is Parts if there are any,
// else null or Text.
type wireMessage struct {
	Role       string
	Parts      []part
	Null       bool
	Text       string
	ToolCalls  []event.ToolCall
	ToolCallID string
	Reasoning  string // further members, each with a comma in front
}

type part struct {
	Type         string        `json:"type"`
	Text         string        `json:"text,omitempty"`
	ImageURL     *imageURL     `json:"image_url,omitempty"`
	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type cacheControl struct {
	Type string `json:"type"`
}

// Texts in place of images.
const (
	imageFollows = "(The image follows in the next message.)"
	imageOmitted = "(An image was left out: this model does not see images.)"
	imageRemote  = "(An image was left out: this server does not fetch images from addresses.)"
	imageFrom    = "(The image of the tool result above.)"
	noOutput     = "(no output)"
)

func (m *Model) assistant(msg *event.Message) wireMessage {
	w := wireMessage{Role: "assistant", Reasoning: m.reasoningMembers(msg), ToolCalls: msg.ToolCalls, Text: joinText(msg.Content)}
	if w.Text == "" && len(w.ToolCalls) == 0 {
		w.Text = noOutput // assistant messages cannot contain only images
	}
	w.Null = w.Text == ""
	return w
}

// joinText is event.JoinText, without a copy of a single text.
func joinText(content []event.Content) string {
	if len(content) == 1 && content[0].Type == event.TypeText {
		return content[0].Text
	}
	return event.JoinText(content)
}

// callID returns the id of a call in the form that the server requires.
func (m *Model) callID(id string) string {
	const length = 9 // Mistral's
	if !m.quirks.ShortIDs || len(id) == length && strings.IndexFunc(id, notAlphanumeric) < 0 {
		return id
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(id))
	short := make([]byte, length)
	for i := range short {
		short[i] = digits[int(sum[i])%len(digits)]
	}
	return string(short)
}

func notAlphanumeric(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

func (m *Model) toolMessage(msg *event.Message) (wireMessage, []part) {
	var room [4]string
	texts := room[:0]
	var images []part
	marked := false
	for i := range msg.Content {
		c := &msg.Content[i]
		marked = marked || c.CachePrompt
		switch {
		case c.Type == event.TypeText && c.Text != "":
			texts = append(texts, c.Text)
		case c.Type == event.TypeImage && len(c.ImageURLs) > 0 && !m.info.Vision:
			texts = append(texts, imageOmitted)
		case c.Type == event.TypeImage && len(c.ImageURLs) > 0:
			texts = append(texts, imageFollows)
			images = append(images, part{Type: "text", Text: imageFrom})
			images = append(images, m.imageParts(c)...)
		}
	}
	if len(texts) == 0 {
		texts = append(texts, noOutput)
	}
	w := wireMessage{Role: "tool", ToolCallID: m.callID(msg.ToolCallID), Text: strings.Join(texts, "\n")}
	if marked && m.info.PromptCache {
		w.Parts = []part{{Type: "text", Text: w.Text, CacheControl: &cacheControl{"ephemeral"}}}
	}
	return w, images
}

// content writes blocks as one string if possible, else as parts.
func (m *Model) content(blocks []event.Content) (string, []part) {
	if len(blocks) == 1 && blocks[0].Type == event.TypeText && !(blocks[0].CachePrompt && m.info.PromptCache) {
		return blocks[0].Text, nil
	}
	parts := make([]part, 0, len(blocks))
	plain := true
	for i := range blocks {
		c := &blocks[i]
		switch {
		case c.Type == event.TypeText && c.Text != "":
			parts = append(parts, part{Type: "text", Text: c.Text})
		case c.Type == event.TypeImage && !m.info.Vision && len(c.ImageURLs) > 0:
			parts = append(parts, part{Type: "text", Text: imageOmitted})
		case c.Type == event.TypeImage && len(c.ImageURLs) > 0:
			parts = append(parts, m.imageParts(c)...)
			plain = false
		default:
			continue
		}
		if c.CachePrompt && m.info.PromptCache {
			parts[len(parts)-1].CacheControl = &cacheControl{"ephemeral"}
			plain = false
		}
	}
	if !plain || len(parts) > 1 && !m.quirks.StringContent {
		return "", parts
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n"), nil
}

func (m *Model) imageParts(c *event.Content) []part {
	parts := make([]part, 0, len(c.ImageURLs))
	for _, u := range c.ImageURLs {
		if m.quirks.InlineImages && !strings.HasPrefix(u, "data:") {
			parts = append(parts, part{Type: "text", Text: imageRemote})
			continue
		}
		parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{u}})
	}
	return parts
}
