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
	out    func([]byte)

	lines [][]byte
	row   int
	off   int // of the cursor, bytes into the line
	pad   int // columns of the cursor beyond the end of the line

	savedRow, savedCol int
}

func newWindow(height int, out func([]byte)) *window {
	return &window{height: max(height, 1), out: out, lines: [][]byte{nil}}
}

// flush outputs everything, and starts with an empty line.
func (w *window) flush() {
	last := len(w.lines) - 1
	for last > w.row && len(w.lines[last]) == 0 {
		last-- // made by a cursor movement, and never written on
	}
	for i, l := range w.lines[:last+1] {
		if i > 0 {
			w.out(newlineByte)
		}
		w.out(l)
	}
	w.lines[0] = w.lines[0][:0]
	w.lines = w.lines[:1]
	w.row, w.off, w.pad = 0, 0, 0
}

// atLineStart reports whether the current line is empty.
func (w *window) atLineStart() bool {
	return len(bytes.TrimSpace(w.lines[len(w.lines)-1])) == 0
}

func (w *window) text(run []byte) {
	line := w.lines[w.row]
	for ; w.pad > 0; w.pad-- {
		line = append(line, ' ')
		w.off = len(line)
	}
	if w.off == len(line) {
		line = append(line, run...)
		w.off = len(line)
	} else {
		end := w.off + runeOffset(line[w.off:], utf8.RuneCount(run))
		line = splice(line, w.off, end, run)
		w.off += len(run)
	}
	w.lines[w.row] = line
	if len(line) > maxLine {
		w.flush()
	}
}

// splice replaces line[from:to] by run.
func splice(line []byte, from, to int, run []byte) []byte {
	if to-from == len(run) {
		copy(line[from:], run)
		return line
	}
	rest := bytes.Clone(line[to:])
	return append(append(line[:from], run...), rest...)
}

// runeOffset returns the length in bytes of the first n characters of p, or
// of all.
func runeOffset(p []byte, n int) int {
	off, _ := prefixChars(p, n)
	return off
}

func (w *window) column() int { return utf8.RuneCount(w.lines[w.row][:w.off]) + w.pad }

// moveTo puts the cursor at a column of a line that exists.
func (w *window) moveTo(row, col int) {
	w.row = min(max(row, 0), len(w.lines)-1)
	line := w.lines[w.row]
	off, n := prefixChars(line, max(col, 0))
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
		w.lines[n] = w.lines[n][:0]
		return
	}
	w.lines = append(w.lines, nil)
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
	top := append(w.lines[0], '\n')
	w.out(top)
	w.lines = append(w.lines[1:], top[:0])
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
		if w.off == len(w.lines[w.row]) && w.pad == 0 {
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
	line := w.lines[w.row]
	switch final {
	case 'J':
		w.eraseDisplay(n)
	case 'K':
		switch n {
		case 0:
			w.lines[w.row] = line[:w.off]
		case 1:
			col := w.column()
			w.lines[w.row] = splice(line, 0, w.off, bytes.Repeat([]byte{' '}, min(col, maxLine)))
			w.moveTo(w.row, col)
		case 2:
			col := w.column()
			w.lines[w.row] = line[:0]
			w.moveTo(w.row, col)
		}
	case 'P':
		end := w.off + runeOffset(line[w.off:], max(n, 1))
		w.lines[w.row] = splice(line, w.off, end, nil)
	case '@':
		if w.off < len(line) {
			w.lines[w.row] = splice(line, w.off, w.off, bytes.Repeat([]byte{' '}, min(max(n, 1), maxPad)))
		}
	case 'X':
		cut, k := prefixChars(line[w.off:], max(n, 1))
		w.lines[w.row] = splice(line, w.off, w.off+cut, bytes.Repeat([]byte{' '}, k))
	}
	if len(w.lines[w.row]) > maxLine {
		w.flush()
	}
}

func (w *window) eraseDisplay(mode int) {
	switch mode {
	case 0:
		w.lines[w.row] = w.lines[w.row][:w.off]
		w.lines = w.lines[:w.row+1]
	case 2, 3:
		// Clearing the screen hides text that a person has already read; the
		// model has not read it yet.
		w.row = len(w.lines) - 1
		for w.row > 0 && len(w.lines[w.row]) == 0 {
			w.row--
		}
		text := len(w.lines[w.row]) > 0
		w.flush()
		if text {
			w.out(newlineByte)
		}
	}
}
