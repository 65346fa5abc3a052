package terminal

import (
	"fmt"
	"strings"
)

// maxLooks bounds the changes of style that are kept of the beginning of a text, and of its
// end.
const maxLooks = 1000

// looks are the styles of a text.
type looks struct {
	first, rest []look
	cut         bool // rest has lost its beginning
}

// look is the style of a text from a character on, in the form of sgr.State's text.
type look struct {
	from  int64
	style string
}

// last returns the present style.
func (l *looks) last() string {
	switch {
	case len(l.rest) > 0:
		return l.rest[len(l.rest)-1].style
	case len(l.first) > 0:
		return l.first[len(l.first)-1].style
	}
	return ""
}

func (l *looks) add(from int64, style string) {
	if len(l.first) < maxLooks {
		l.first = append(l.first, look{from, style})
		return
	}
	if len(l.rest) >= 2*maxLooks {
		l.rest, l.cut = append(l.rest[:0], l.rest[maxLooks:]...), true
	}
	l.rest = append(l.rest, look{from, style})
}

// piece is a part of the text that is shown, and the character at which it is shown.
type piece struct{ from, to, at int64 }

// of returns the styles of pieces in the form of event.TerminalMetadata. Where it is not
// known, the style is plain.
func (l *looks) of(pieces ...piece) string {
	all := l.first
	if l.cut {
		all = append(all[:len(all):len(all)], look{all[len(all)-1].from, ""})
	}
	all = append(all[:len(all):len(all)], l.rest...)
	var b strings.Builder
	shown := ""
	change := func(at int64, style string) {
		if style != shown {
			fmt.Fprintf(&b, " %d:%s", at, style)
			shown = style
		}
	}
	for _, p := range pieces {
		style := ""
		for i, k := range all {
			if k.from >= p.to {
				break
			}
			style = k.style
			if i+1 < len(all) && all[i+1].from <= p.from {
				continue // it ends before the piece
			}
			change(p.at+max(k.from-p.from, 0), style)
		}
		change(p.at+p.to-p.from, "")
	}
	return strings.TrimPrefix(b.String(), " ")
}
