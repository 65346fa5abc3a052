package terminal

import (
	"bytes"
	"unicode/utf8"

	"github.com/deft-dev/deft/internal/sgr"
)

// surface is a screen on which terminal output is drawn.
type surface interface {
	// text draws a run of printable characters.
	text(run []byte)
	// control executes one of \b \t \n \v \f \r.
	control(c byte)
	// csi executes ESC [ params final, without a private marker.
	csi(params []int, final byte)
	// esc executes ESC final.
	esc(final byte)
}

// The states of the parser (after ECMA-48 and the DEC parser of vt100.net).
const (
	ground      = iota
	escape      // after ESC
	escapeInter // after ESC and an intermediate: one final follows
	csiParam
	csiIgnore
	stringBody // OSC, DCS, APC, PM, SOS: skipped
	stringEsc  // ESC inside a string: probably its end
)

// Limits on how much a hostile or binary output can make the parser skip.
const (
	maxParams = 16
	maxNumber = 9999
	maxString = 1 << 20
)

// filter turns programs' output on a terminal into text for a reader: escape
// sequences are executed if they move text and dropped otherwise, so that queries
// (DSR, DA, OSC, DECRQSS) are never answered; text that a carriage return or a
// cursor movement overwrote is dropped; bytes that are not UTF-8 become U+FFFD and
// NULs vanish. It keeps its state between writes, so that sequences may be split
// anywhere. Not safe for concurrent use.
type filter struct {
	main *window
	alt  *grid // not nil while a full-screen program draws
	live func([]byte)

	rows, cols int

	state   int
	params  []int
	private byte
	colons  bool // between parameters
	inter   bool
	osc     bool
	swallow int
	partial []byte // of a UTF-8 character
	one     [1]byte
	styled  []byte // of style, to be used again
	look    sgr.State
}

// newFilter returns a filter for a terminal of the given size. out takes the
// finished text with its style, in the form of sgr.State's; live, if not nil, takes the text as it comes, with its \r and its
// styles (package sgr).
func newFilter(rows, cols int, out func(text []byte, style string), live func([]byte)) *filter {
	if live == nil {
		live = func([]byte) {}
	}
	return &filter{main: newWindow(rows, out), live: live, rows: rows, cols: cols}
}

func (f *filter) surface() surface {
	if f.alt != nil {
		return f.alt
	}
	return f.main
}

// flush outputs all text on the main screen and starts a new one.
func (f *filter) flush() { f.main.flush() }

// screen returns the picture of a full-screen program, if one is drawing.
func (f *filter) screen() (string, bool) {
	if f.alt == nil {
		return "", false
	}
	return f.alt.String(), true
}

// reset drops an unfinished sequence and the style, and leaves the full screen.
func (f *filter) reset() {
	if len(f.partial) > 0 {
		f.run(printable(f.partial))
	}
	f.state, f.partial, f.alt = ground, f.partial[:0], nil
	f.look, f.main.style = sgr.State{}, plain
}

// write takes the next bytes of output.
func (f *filter) write(p []byte) {
	for len(p) > 0 {
		if f.state == ground {
			p = f.ground(p)
			continue
		}
		f.step(p[0])
		p = p[1:]
	}
}

// ground consumes a run of text, or one control character, and returns the
// rest.
func (f *filter) ground(p []byte) []byte {
	if len(f.partial) > 0 {
		return f.completeRune(p)
	}
	n, ascii := 0, true
	for n < len(p) && p[n] >= 0x20 && p[n] != 0x7f {
		ascii = ascii && p[n] < utf8.RuneSelf
		n++
	}
	if n == 0 {
		f.c0(p[0])
		return p[1:]
	}
	run := p[:n]
	if !ascii {
		if n == len(p) {
			cut := incompleteTail(run)
			f.partial = append(f.partial[:0], run[len(run)-cut:]...)
			run = run[:len(run)-cut]
		}
		run = printable(run)
	}
	if len(run) > 0 {
		f.run(run)
	}
	return p[n:]
}

func (f *filter) run(run []byte) {
	if f.alt == nil {
		f.live(run)
	}
	f.surface().text(run)
}

// completeRune adds bytes to a character that was cut by the end of a write.
func (f *filter) completeRune(p []byte) []byte {
	for len(p) > 0 && !utf8.FullRune(f.partial) && p[0] >= 0x80 && p[0] < 0xc0 {
		f.partial = append(f.partial, p[0])
		p = p[1:]
	}
	if len(p) == 0 && !utf8.FullRune(f.partial) {
		return nil
	}
	run := printable(f.partial)
	f.partial = f.partial[:0]
	if len(run) > 0 {
		f.run(run)
	}
	return p
}

// incompleteTail returns how many bytes at the end of p begin a character
// that may go on in the next write.
func incompleteTail(p []byte) int {
	for i := 1; i <= 3 && i <= len(p); i++ {
		if c := p[len(p)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-i:]) {
				return i
			}
			return 0
		}
	}
	return 0
}

// printable returns p as valid UTF-8 without C1 controls. Each byte that is
// not UTF-8 is replaced by itself, so that it does not matter where a write
// ended.
func printable(p []byte) []byte {
	if bytes.IndexByte(p, 0xc2) < 0 && utf8.Valid(p) {
		return p
	}
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		if r < 0x80 || r >= 0xa0 {
			out = utf8.AppendRune(out, r)
		}
		p = p[size:]
	}
	return out
}

func (f *filter) c0(c byte) {
	switch c {
	case 0x1b:
		f.begin()
	case '\b', '\t', '\n', '\v', '\f', '\r':
		if f.alt == nil && (c == '\n' || c == '\r' || c == '\t') {
			f.one[0] = c
			f.live(f.one[:])
		}
		f.surface().control(c)
	}
}

func (f *filter) begin() {
	f.state, f.params, f.private, f.colons, f.inter, f.swallow = escape, f.params[:0], 0, false, false, 0
}

// step takes one byte inside an escape sequence.
func (f *filter) step(c byte) {
	switch f.state {
	case stringBody:
		f.inString(c)
		return
	case stringEsc:
		f.state = ground
		if c != '\\' {
			f.begin()
			f.step(c)
		}
		return
	}
	switch {
	case c == 0x1b:
		f.begin()
	case c == 0x18 || c == 0x1a:
		f.state = ground
	case c < 0x20:
		// Controls inside a sequence are executed at once.
		f.c0(c)
	case f.state == escape:
		f.afterEscape(c)
	case f.state == escapeInter:
		if c >= 0x30 {
			f.state = ground
		}
	default:
		f.inCSI(c)
	}
}

func (f *filter) inString(c byte) {
	f.swallow++
	switch {
	case c == 0x1b:
		f.state = stringEsc
	case c == 0x07, c == 0x18, c == 0x1a, f.swallow > maxString:
		f.state = ground
	case f.osc && (c == '\n' || c == '\r'):
		// An operating system command has no line breaks: this was not one.
		f.state = ground
		f.c0(c)
	}
}

func (f *filter) afterEscape(c byte) {
	f.state = ground
	switch {
	case c == '[':
		f.state = csiParam
	case c == ']', c == 'P', c == '_', c == '^', c == 'X':
		f.state, f.osc = stringBody, c == ']'
	case c >= 0x20 && c < 0x30:
		f.state = escapeInter
	case c == 'c':
		f.alt = nil
		f.main.flush()
	case c < 0x7f:
		f.surface().esc(c)
	}
}

func (f *filter) inCSI(c byte) {
	switch {
	case c >= 0x40 && c < 0x7f:
		ignore := f.state == csiIgnore || f.inter
		f.state = ground
		if !ignore {
			f.dispatch(c)
		}
	case c >= 0x7f:
		// Not part of a sequence: this was binary output.
		f.state = ground
	case f.state == csiIgnore:
	case c >= '0' && c <= '9':
		if len(f.params) == 0 {
			f.params = append(f.params, 0)
		}
		last := &f.params[len(f.params)-1]
		*last = min(*last*10+int(c-'0'), maxNumber)
	case c == ';' || c == ':':
		f.colons = f.colons || c == ':'
		if len(f.params) == 0 {
			f.params = append(f.params, 0)
		}
		if f.params = append(f.params, 0); len(f.params) > maxParams {
			f.state = csiIgnore
		}
	case c >= '<' && c <= '?':
		f.private = c
	default:
		f.inter = true
	}
}

func (f *filter) dispatch(final byte) {
	if f.private == 0 {
		f.style(final)
		if final == 'G' && f.alt == nil && (len(f.params) == 0 || f.params[0] <= 1) { // to the first column
			f.one[0] = '\r'
			f.live(f.one[:])
		}
		f.surface().csi(f.params, final)
		return
	}
	if f.private != '?' || (final != 'h' && final != 'l') {
		return
	}
	for _, p := range f.params {
		if p != 47 && p != 1047 && p != 1049 {
			continue
		}
		switch {
		case final == 'l':
			f.alt = nil
		case f.alt == nil:
			f.alt = newGrid(f.rows, f.cols)
		}
	}
}

// style passes a style on to the window and to live. Forms with colons are not passed on: they mean
// something else.
func (f *filter) style(final byte) {
	if final != 'm' || f.alt != nil || f.colons {
		return
	}
	f.look.Apply(f.params)
	f.main.style = f.main.palette.number(f.look.String())
	if f.styled = sgr.Append(f.styled[:0], f.params); len(f.styled) > 0 {
		f.live(f.styled)
	}
}

// param returns the i-th parameter, or def if it is missing or 0.
func param(params []int, i, def int) int {
	if i >= len(params) || params[i] == 0 {
		return def
	}
	return params[i]
}
