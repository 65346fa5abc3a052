// Package styledmask hides secrets in text with colours that comes in pieces.
//
// # Usage
//
//	m := styledmask.New(registry.Stream())
//	show(m.Feed(piece))
//	…
//	show(m.Flush())
//
// # Concurrency and failure
//
// A [Mask] is for one goroutine at a time. Nothing can fail.
package styledmask

import (
	"strings"

	"github.com/deft-dev/deft/internal/sgr"
	"github.com/deft-dev/deft/secret"
)

// Mask looks for secrets in the text without its escape sequences, because programs colour
// parts of words, such as the matches of grep. A colour that begins within a possible secret
// comes after it. Sequences that set no style are dropped.
type Mask struct {
	mask   *secret.Stream
	styles string // that come once mask withholds nothing
	open   string // the beginning of a sequence
}

// New returns a Mask of the secrets that a stream hides.
func New(s *secret.Stream) *Mask { return &Mask{mask: s} }

// maxStyles bounds the styles that wait, in bytes.
const maxStyles = 1 << 10

// Feed takes more text and returns the part that can be shown.
func (m *Mask) Feed(text string) string {
	var out strings.Builder
	text = m.open + text
	m.open = ""
	for text != "" {
		before, style, rest, whole := sgr.Cut(text)
		m.text(&out, before)
		if !whole {
			m.open = rest
			break
		}
		m.style(&out, style)
		text = rest
	}
	return out.String()
}

// text feeds the mask, by single bytes as long as a style waits for it.
func (m *Mask) text(out *strings.Builder, text string) {
	for m.styles != "" && text != "" {
		out.WriteString(m.mask.Feed(text[:1]))
		text = text[1:]
		m.style(out, "")
	}
	if text != "" {
		out.WriteString(m.mask.Feed(text))
	}
}

// style adds a style to the waiting ones, and writes them if nothing is withheld.
func (m *Mask) style(out *strings.Builder, style string) {
	if m.styles += style; len(m.styles) > maxStyles {
		m.styles = sgr.Reset
	}
	if m.mask.Held() == 0 {
		out.WriteString(m.styles)
		m.styles = ""
	}
}

// Flush returns the withheld rest: no more text comes.
func (m *Mask) Flush() string {
	out := m.mask.Flush() + m.styles
	m.styles, m.open = "", ""
	return out
}
