package gemini

import (
	"path"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// part is a part of a request, of any kind; appendTo writes the fields of each
// kind.
type part struct {
	Kind      kind
	Text      string // also the output of a function
	MediaType string
	Data      string // base64, or the address of a file
	ID, Name  string // of a function
	Args      string // JSON
	Signature string
}

type kind int

const (
	textPart kind = iota
	inlinePart
	filePart
	callPart
	resultPart
)

const (
	// placeholderSignature replaces the signature of a call by another model
	// (https://ai.google.dev/gemini-api/docs/thought-signatures).
	placeholderSignature = "skip_thought_signature_validator"

	imageOmitted = "(An image was left out: this model does not see images.)"
	imageBroken  = "(An image was left out: its URL is neither https nor base64 data.)"
	goOn         = "Continue."
)

// assistant appends a turn of the model. Reasoning is not sent back, only its
// signatures: the API does not use its own summaries.
func (m *Model) assistant(parts []part, msg *event.Message) []part {
	parts = slices.DeleteFunc(m.parts(parts, msg.Content), func(p part) bool { return p.Kind != textPart })
	if sig := textSignature(msg); sig != "" {
		if len(parts) == 0 {
			parts = append(parts, part{})
		}
		parts[len(parts)-1].Signature = sig
	}
	for i := range msg.ToolCalls {
		c := &msg.ToolCalls[i]
		p := part{Kind: callPart, ID: m.id(c.ID), Name: functionName(c.Name), Args: llm.ArgumentsText(c.Arguments)}
		if sig, ok := strings.CutPrefix(c.ResponsesItemID, SignaturePrefix); ok {
			p.Signature = sig
		} else if i == 0 && m.family.signed() {
			p.Signature = placeholderSignature
		}
		parts = append(parts, p)
	}
	return parts
}

// textSignature is the signature that came with the text of a turn.
func textSignature(msg *event.Message) string {
	sig := ""
	for _, b := range msg.ThinkingBlocks {
		if s, ok := strings.CutPrefix(b.Thinking, SignaturePrefix); ok && b.Type != event.TypeRedacted && b.Signature == "" {
			sig = s
		}
	}
	return sig
}

// toolResult returns the result of a call, and its images.
func (m *Model) toolResult(msg *event.Message) (result part, images []part) {
	var room [4]part
	result = part{Kind: resultPart, ID: m.id(msg.ToolCallID), Name: functionName(msg.Name)}
	texts := 0
	for _, p := range m.parts(room[:0], msg.Content) {
		switch {
		case p.Kind != textPart:
			images = append(images, p)
		case texts == 0:
			result.Text, texts = p.Text, 1
		default:
			result.Text += "\n" + p.Text
		}
	}
	return result, images
}

func (m *Model) id(id string) string {
	if m.noIDs {
		return ""
	}
	return id
}

func text(s string) part { return part{Text: s} }

// parts appends content without blank texts.
func (m *Model) parts(out []part, blocks []event.Content) []part {
	for i := range blocks {
		c := &blocks[i]
		switch c.Type {
		case event.TypeImage:
			for _, u := range c.ImageURLs {
				out = append(out, m.image(u))
			}
		default:
			if strings.TrimSpace(c.Text) != "" {
				out = append(out, text(c.Text))
			}
		}
	}
	return out
}

func (m *Model) image(url string) part {
	if !m.info.Vision {
		return text(imageOmitted)
	}
	if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "gs://") {
		return part{Kind: filePart, MediaType: mediaOf(url), Data: url}
	}
	head, data, ok := strings.Cut(url, ",")
	media, isData := strings.CutPrefix(head, "data:")
	media, isBase64 := strings.CutSuffix(media, ";base64")
	if !ok || !isData || !isBase64 || data == "" {
		return text(imageBroken)
	}
	media, _, _ = strings.Cut(media, ";") // parameters such as a file name
	if media == "image/jpg" || media == "" {
		media = "image/jpeg"
	}
	return part{Kind: inlinePart, MediaType: media, Data: data}
}

// mediaOf guesses the media type of an image by its name.
func mediaOf(url string) string {
	url, _, _ = strings.Cut(url, "?")
	switch strings.ToLower(path.Ext(url)) {
	case ".png":
		return "image/png"
	case ".webp":
		return "image/webp"
	case ".gif":
		return "image/gif"
	}
	return "image/jpeg"
}

// functionName returns a normalized name that begins with a character that the
// API accepts.
func functionName(name string) string {
	if name == "" || name[0] == '-' || name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}
