package terminal

import (
	"bytes"
	"slices"
)

// line is a line of a window that can still be overwritten.
type line struct {
	text   []byte
	styles []uint16 // of each byte, see palette; nil where all is plain
}

// clear empties the line and keeps the memory of its text.
func (l *line) clear() { l.text, l.styles = l.text[:0], nil }

// cut drops the text from a byte on.
func (l *line) cut(from int) {
	l.text = l.text[:from]
	if l.styles != nil {
		l.styles = l.styles[:from]
	}
}

// append adds text.
func (l *line) append(run []byte, style uint16) {
	if style != plain && l.styles == nil {
		l.styles = make([]uint16, len(l.text), len(l.text)+len(run))
	}
	l.text = append(l.text, run...)
	if l.styles != nil {
		for range run {
			l.styles = append(l.styles, style)
		}
	}
}

// splice replaces text[from:to] by run.
func (l *line) splice(from, to int, run []byte, style uint16) {
	if style != plain && l.styles == nil {
		l.styles = make([]uint16, len(l.text))
	}
	if l.styles != nil {
		l.styles = slices.Replace(l.styles, from, to, slices.Repeat([]uint16{style}, len(run))...)
	}
	if to-from == len(run) {
		copy(l.text[from:], run)
		return
	}
	rest := bytes.Clone(l.text[to:])
	l.text = append(append(l.text[:from], run...), rest...)
}

// plain is the style of text without any.
const plain uint16 = 0

// maxPalette bounds the styles that a window tells apart; more are plain.
const maxPalette = 4096

// palette numbers styles, which have the form of sgr.State's text.
type palette struct {
	names []string
	index map[string]uint16
}

// number returns the number of a style.
func (p *palette) number(name string) uint16 {
	if name == "" {
		return plain
	}
	if n, ok := p.index[name]; ok {
		return n
	}
	if len(p.names) >= maxPalette {
		return plain
	}
	if p.index == nil {
		p.index, p.names = map[string]uint16{}, []string{""}
	}
	n := uint16(len(p.names)) //nolint:gosec // at most maxPalette
	p.names, p.index[name] = append(p.names, name), n
	return n
}

func (p *palette) name(n uint16) string {
	if n == plain {
		return ""
	}
	return p.names[n]
}
