package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event/internal/wire"
)

// The types of content blocks.
const (
	TypeText  = "text"
	TypeImage = "image"
)

// Content is a text or image block (docs/openhands/sdk-wire.md section 7); the
// zero value is an empty text. A decoded block of any other type keeps its JSON and is
// written back verbatim.
type Content struct {
	Type string // TypeText or TypeImage; empty for text
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
		if c.Type == TypeImage || c.raw != nil {
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

// AppendJSON appends the block's JSON to dst.
func (c Content) AppendJSON(dst []byte) ([]byte, error) {
	switch {
	case c.raw != nil:
		return append(dst, c.raw...), nil
	case c.Type == TypeText, c.Type == "":
		return wire.Append(dst, &textJSON{c.CachePrompt, TypeText, c.Text})
	case c.Type == TypeImage:
		return wire.Append(dst, &imageJSON{c.CachePrompt, c.Type, c.ImageURLs})
	}
	return nil, fmt.Errorf("content block of unknown type %q", c.Type)
}

// MarshalJSON implements [json.Marshaler].
func (c Content) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil) }

// ParseJSON reads a block from JSON that is known to be valid; use
// json.Unmarshal for any other.
func (c *Content) ParseJSON(b []byte) error {
	var some [4]wire.Member
	members, err := wire.Members(b, some[:0])
	if err != nil {
		return err
	}
	*c = Content{Type: typeOf(members)}
	switch c.Type {
	case TypeText:
		var v textJSON
		err := wire.DecodeMembers(members, &v)
		c.CachePrompt, c.Text = v.CachePrompt, v.Text
		return err
	case TypeImage:
		var v imageJSON
		err := wire.DecodeMembers(members, &v)
		c.CachePrompt, c.ImageURLs = v.CachePrompt, v.ImageURLs
		return err
	}
	c.raw = bytes.Clone(b)
	return nil
}

// typeOf returns a block's type. It may be absent, as in the reference, where
// the fields tell it.
func typeOf(members []wire.Member) string {
	switch {
	case wire.Has(members, "type"):
		return wire.String(members, "type")
	case wire.Has(members, "image_urls"):
		return TypeImage
	case wire.Has(members, "text"):
		return TypeText
	}
	return ""
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Content) UnmarshalJSON(b []byte) error {
	if err := wire.Check(b); err != nil {
		return err
	}
	return c.ParseJSON(b)
}

// Equal reports whether two blocks are the same, for tests that compare
// events.
func (c Content) Equal(o Content) bool {
	return c.Type == o.Type && c.CachePrompt == o.CachePrompt && c.Text == o.Text &&
		slices.Equal(c.ImageURLs, o.ImageURLs) && bytes.Equal(c.raw, o.raw)
}
