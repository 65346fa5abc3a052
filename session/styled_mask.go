package session

import (
	"strings"

	"github.com/deft-dev/deft/internal/sgr"
	"github.com/deft-dev/deft/secret"
)

// styledMask masks text with colours that comes in pieces. Secrets are looked for in
// the text without its escape sequences, because programs colour parts of words, such
// as what grep has found. A colour that begins within what may be a secret comes behind
// it. Sequences that set no style are dropped.
type styledMask struct {
	mask   *secret.Stream
	styles string // that come once mask holds nothing back
	open   string // the beginning of a sequence
}

// maxStyles bounds the styles that wait, in bytes.
const maxStyles = 1 << 10

// feed takes more text and returns what can be shown.
func (m *styledMask) feed(text string) string {
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
func (m *styledMask) text(out *strings.Builder, text string) {
	for m.styles != "" && text != "" {
		out.WriteString(m.mask.Feed(text[:1]))
		text = text[1:]
		m.style(out, "")
	}
	if text != "" {
		out.WriteString(m.mask.Feed(text))
	}
}

// style adds a style to those that wait, and writes them if they need not.
func (m *styledMask) style(out *strings.Builder, style string) {
	if m.styles += style; len(m.styles) > maxStyles {
		m.styles = sgr.Reset
	}
	if !m.mask.Holds() {
		out.WriteString(m.styles)
		m.styles = ""
	}
}

// flush returns what is held back: no more text comes.
func (m *styledMask) flush() string {
	out := m.mask.Flush() + m.styles
	m.styles, m.open = "", ""
	return out
}
