package terminal

import (
	"bytes"
	"unicode/utf8"
)

const (
	maxLine = 4 << 10 // bytes of a line that can still be overwritten
	maxPad  = 512     // columns that a cursor can be beyond the text
)

var newlineByte = []byte{'\n'}

// window is the main screen: the last lines of output, which a progress
// display may still rewrite. Lines that scroll off the top are final. Lines
// do not wrap, because a reader has no use for the terminal's width.
type window struct {
	height int
	out    func(text []byte, style string)

	lines   []line
	style   uint16 // of new text
	palette palette
	row     int
	off     int // of the cursor, bytes into the line
	pad     int // columns of the cursor beyond the end of the line

	savedRow, savedCol int
}

func newWindow(height int, out func(text []byte, style string)) *window {
	return &window{height: max(height, 1), out: out, lines: make([]line, 1)}
}

// flush outputs everything, and starts with an empty line.
func (w *window) flush() {
	last := len(w.lines) - 1
	for last > w.row && len(w.lines[last].text) == 0 {
		last-- // made by a cursor movement, and never written on
	}
	for i := range w.lines[:last+1] {
		w.emit(&w.lines[i], i < last)
	}
	w.lines[0].clear()
	w.lines = w.lines[:1]
	w.row, w.off, w.pad = 0, 0, 0
}

// emit outputs a line by its runs of one style. The end of a line has the style of its last
// character.
func (w *window) emit(l *line, ended bool) {
	if ended {
		last := plain
		if n := len(l.styles); n > 0 {
			last = l.styles[n-1]
		}
		l.append(newlineByte, last)
	}
	if l.styles == nil {
		w.out(l.text, "")
		return
	}
	for from := 0; from < len(l.text); {
		to := from + 1
		for to < len(l.text) && l.styles[to] == l.styles[from] {
			to++
		}
		w.out(l.text[from:to], w.palette.name(l.styles[from]))
		from = to
	}
}

// atLineStart reports whether the current line is empty.
func (w *window) atLineStart() bool {
	return len(bytes.TrimSpace(w.lines[len(w.lines)-1].text)) == 0
}

func (w *window) text(run []byte) {
	l := &w.lines[w.row]
	for ; w.pad > 0; w.pad-- {
		l.append([]byte{' '}, plain)
		w.off = len(l.text)
	}
	if w.off == len(l.text) {
		l.append(run, w.style)
		w.off = len(l.text)
	} else {
		end := w.off + runeOffset(l.text[w.off:], utf8.RuneCount(run))
		l.splice(w.off, end, run, w.style)
		w.off += len(run)
	}
	if len(l.text) > maxLine {
		w.flush()
	}
}

// runeOffset returns the length in bytes of the first n characters of p, or
// of all.
func runeOffset(p []byte, n int) int {
	off, _ := prefixChars(p, n)
	return off
}

func (w *window) column() int { return utf8.RuneCount(w.lines[w.row].text[:w.off]) + w.pad }

// moveTo puts the cursor at a column of a line that exists.
func (w *window) moveTo(row, col int) {
	w.row = min(max(row, 0), len(w.lines)-1)
	off, n := prefixChars(w.lines[w.row].text, max(col, 0))
	w.off, w.pad = off, min(max(col, 0)-n, maxPad)
}

// extend adds lines until row exists, at most to the height.
func (w *window) extend(row int) int {
	row = min(row, w.height-1)
	for len(w.lines) <= row {
		w.addLine()
	}
	return row
}

func (w *window) addLine() {
	if n := len(w.lines); n < cap(w.lines) {
		w.lines = w.lines[:n+1]
		w.lines[n].clear()
		return
	}
	w.lines = append(w.lines, line{})
}

func (w *window) newline() {
	w.off, w.pad = 0, 0
	if w.row < len(w.lines)-1 {
		w.row++
		return
	}
	if len(w.lines) >= w.height {
		w.scroll()
	} else {
		w.addLine()
	}
	w.row = len(w.lines) - 1
}

// scroll outputs the top line and reuses its memory for a new bottom line.
// The slice moves on by one and is copied only when its capacity is used up:
// a long output scrolls for each of its lines.
func (w *window) scroll() {
	top := w.lines[0]
	w.emit(&top, true)
	top.clear()
	w.lines = append(w.lines[1:], top)
}

func (w *window) control(c byte) {
	switch c {
	case '\n', '\v', '\f':
		w.newline()
	case '\r':
		w.off, w.pad = 0, 0
	case '\b':
		w.moveTo(w.row, w.column()-1)
	case '\t':
		if w.off == len(w.lines[w.row].text) && w.pad == 0 {
			w.text([]byte{'\t'})
		} else {
			w.moveTo(w.row, (w.column()/8+1)*8)
		}
	}
}

func (w *window) esc(final byte) {
	switch final {
	case 'D', 'E':
		w.newline()
	case 'M':
		w.moveTo(w.row-1, w.column())
	case '7':
		w.savedRow, w.savedCol = w.row, w.column()
	case '8':
		w.moveTo(w.savedRow, w.savedCol)
	}
}

func (w *window) csi(params []int, final byte) {
	n := param(params, 0, 1)
	switch final {
	case 'A':
		w.moveTo(w.row-n, w.column())
	case 'B':
		w.moveTo(w.row+n, w.column())
	case 'E':
		w.moveTo(w.row+n, 0)
	case 'F':
		w.moveTo(w.row-n, 0)
	case 'C':
		w.moveTo(w.row, w.column()+n)
	case 'D':
		w.moveTo(w.row, w.column()-n)
	case 'G', '`':
		w.moveTo(w.row, n-1)
	case 'H', 'f':
		w.moveTo(w.extend(n-1), param(params, 1, 1)-1)
	case 'd':
		w.moveTo(w.extend(n-1), w.column())
	case 's':
		w.esc('7')
	case 'u':
		w.esc('8')
	default:
		w.edit(param(params, 0, 0), final)
	}
}

// edit executes the sequences that change text.
func (w *window) edit(n int, final byte) {
	l := &w.lines[w.row]
	switch final {
	case 'J':
		w.eraseDisplay(n)
	case 'K':
		switch n {
		case 0:
			l.cut(w.off)
		case 1:
			col := w.column()
			l.splice(0, w.off, bytes.Repeat([]byte{' '}, min(col, maxLine)), plain)
			w.moveTo(w.row, col)
		case 2:
			col := w.column()
			l.clear()
			w.moveTo(w.row, col)
		}
	case 'P':
		end := w.off + runeOffset(l.text[w.off:], max(n, 1))
		l.splice(w.off, end, nil, plain)
	case '@':
		if w.off < len(l.text) {
			l.splice(w.off, w.off, bytes.Repeat([]byte{' '}, min(max(n, 1), maxPad)), plain)
		}
	case 'X':
		cut, k := prefixChars(l.text[w.off:], max(n, 1))
		l.splice(w.off, w.off+cut, bytes.Repeat([]byte{' '}, k), plain)
	}
	if len(w.lines[w.row].text) > maxLine {
		w.flush()
	}
}

func (w *window) eraseDisplay(mode int) {
	switch mode {
	case 0:
		w.lines[w.row].cut(w.off)
		w.lines = w.lines[:w.row+1]
	case 2, 3:
		// Clearing the screen hides text that a person has already read; the
		// model has not read it yet.
		w.row = len(w.lines) - 1
		for w.row > 0 && len(w.lines[w.row].text) == 0 {
			w.row--
		}
		text := len(w.lines[w.row].text) > 0
		w.flush()
		if text {
			w.out(newlineByte, "")
		}
	}
}
