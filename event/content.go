package event

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The types of content blocks.
const (
	TypeText  = "text"
	TypeImage = "image"
)

// Content is a text or image block (sdk-wire.md section 7). A block of any
// other type keeps its JSON in raw and is written back verbatim.
type Content struct {
	Type string
	// CachePrompt asks providers with explicit prompt caching to cache up to
	// and including this block.
	CachePrompt bool
	Text        string   // of a text block
	ImageURLs   []string // of an image block: https or data: URLs
	raw         json.RawMessage
}

// Text returns a text block.
func Text(s string) Content { return Content{Type: TypeText, Text: s} }

// Image returns an image block.
func Image(urls ...string) Content { return Content{Type: TypeImage, ImageURLs: urls} }

// Texts returns a list of one text block, or an empty list for "".
func Texts(s string) List[Content] {
	if s == "" {
		return List[Content]{}
	}
	return List[Content]{Text(s)}
}

// JoinText returns the text of all text blocks, joined by newlines.
func JoinText(blocks []Content) string {
	var b strings.Builder
	for _, c := range blocks {
		if c.Type != TypeText {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.Text)
	}
	return b.String()
}

type textJSON struct {
	CachePrompt bool   `json:"cache_prompt"`
	Type        string `json:"type"`
	Text        string `json:"text"`
}

type imageJSON struct {
	CachePrompt bool         `json:"cache_prompt"`
	Type        string       `json:"type"`
	ImageURLs   List[string] `json:"image_urls"`
}

// MarshalJSON implements [json.Marshaler].
func (c Content) MarshalJSON() ([]byte, error) {
	switch c.Type {
	case TypeText:
		return json.Marshal(textJSON{c.CachePrompt, c.Type, c.Text})
	case TypeImage:
		return json.Marshal(imageJSON{c.CachePrompt, c.Type, c.ImageURLs})
	}
	if c.raw == nil {
		return nil, fmt.Errorf("content block of unknown type %q", c.Type)
	}
	return c.raw, nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Content) UnmarshalJSON(b []byte) error {
	var v struct {
		imageJSON
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*c = Content{Type: v.Type, CachePrompt: v.CachePrompt}
	switch v.Type {
	case TypeText:
		c.Text = v.Text
	case TypeImage:
		c.ImageURLs = v.ImageURLs
	default:
		c.raw = append(json.RawMessage(nil), b...)
	}
	return nil
}
