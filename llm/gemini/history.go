package gemini

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// part is a part of any kind that requests hold.
type part struct {
	Text             *string           `json:"text,omitempty"`
	InlineData       *inlineData       `json:"inlineData,omitempty"`
	FileData         *fileData         `json:"fileData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
}

type inlineData struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
}

type fileData struct {
	MIMEType string `json:"mimeType,omitempty"`
	FileURI  string `json:"fileUri"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name"`
	Response output `json:"response"`
}

type output struct {
	Output string `json:"output"`
}

const (
	// foreignThought stands in for the signature of a call that another model
	// made (https://ai.google.dev/gemini-api/docs/thought-signatures).
	foreignThought = "skip_thought_signature_validator"

	imageOmitted = "(An image was left out: this model does not see images.)"
	imageBroken  = "(An image was left out: its URL is neither https nor base64 data.)"
	goOn         = "Continue."
)

// assistant writes a turn of the model. Thoughts themselves are not sent back,
// only their signatures: the API has no use for its own summaries.
func (m *Model) assistant(msg *event.Message) []part {
	var parts []part
	for _, p := range m.parts(msg.Content) {
		if p.Text != nil {
			parts = append(parts, p)
		}
	}
	if sig := textSignature(msg); sig != "" {
		if len(parts) == 0 {
			parts = append(parts, text(""))
		}
		parts[len(parts)-1].ThoughtSignature = sig
	}
	for i, c := range msg.ToolCalls {
		p := part{FunctionCall: &functionCall{ID: m.id(c.ID), Name: functionName(c.Name), Args: llm.ArgumentsObject(c.Arguments)}}
		if sig, ok := strings.CutPrefix(c.ResponsesItemID, SignaturePrefix); ok {
			p.ThoughtSignature = sig
		} else if i == 0 && m.family.signed() {
			p.ThoughtSignature = foreignThought
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

// toolResult writes the answer to a call, and the images that belong to it.
func (m *Model) toolResult(msg *event.Message) (result part, images []part) {
	var texts []string
	for _, p := range m.parts(msg.Content) {
		if p.Text != nil {
			texts = append(texts, *p.Text)
		} else {
			images = append(images, p)
		}
	}
	r := &functionResponse{ID: m.id(msg.ToolCallID), Name: functionName(msg.Name), Response: output{strings.Join(texts, "\n")}}
	return part{FunctionResponse: r}, images
}

func (m *Model) id(id string) string {
	if m.noIDs {
		return ""
	}
	return id
}

func text(s string) part { return part{Text: &s} }

// parts writes content. Blank texts are left out.
func (m *Model) parts(blocks []event.Content) []part {
	var out []part
	for _, c := range blocks {
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
		return part{FileData: &fileData{mediaOf(url), url}}
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
	return part{InlineData: &inlineData{media, data}}
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

// functionName makes a normalised name one that begins as the API wants.
func functionName(name string) string {
	if name == "" || name[0] == '-' || name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}
