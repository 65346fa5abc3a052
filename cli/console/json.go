package console

import (
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/deft-dev/deft/internal/visible"
)

// jsonWriter escapes characters that a terminal must not get.
type jsonWriter struct {
	out  io.Writer
	rest []byte // the beginning of a character
}

// NewJSONWriter returns a writer for JSON texts that a terminal shows. Characters
// that control the terminal, or that reorder or hide text, are written as the
// escapes of JSON, so that the value remains the same. It is not safe for
// concurrent use.
func NewJSONWriter(out io.Writer) io.Writer { return &jsonWriter{out: out} }

// Write implements [io.Writer]. A character that is not complete is written with
// its end.
func (w *jsonWriter) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			out = append(out, `\ufffd`...)
		case r < utf8.RuneSelf || visible.Plain(r):
			out = append(out, text[:size]...) // JSON itself escapes the controls of ASCII
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	w.rest = append([]byte{}, text...)
	if _, err := w.out.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
