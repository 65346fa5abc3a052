package editor

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// minConfidence is the least confidence of a detected charset, and detectBytes
// how much of a file the detection reads.
const (
	minConfidence = 0.9
	detectBytes   = 64 << 10
)

// document is a text file in memory. Encoding text again gives the file's
// bytes back exactly; decodeDocument checks that.
type document struct {
	bom     []byte
	charset encoding.Encoding // nil for UTF-8
	name    string            // of the charset, for messages
	// text is the content in UTF-8. Stray bytes of a UTF-8 file stay in it as
	// they are, so text need not be valid.
	text string
}

var (
	bomUTF8    = []byte{0xEF, 0xBB, 0xBF}
	bomUTF16LE = []byte{0xFF, 0xFE}
	bomUTF16BE = []byte{0xFE, 0xFF}
)

// decodeDocument finds the encoding of a file. ok is false for a binary file.
func decodeDocument(raw []byte) (d document, ok bool) {
	switch {
	case bytes.HasPrefix(raw, bomUTF8):
		return document{bom: bomUTF8, name: "UTF-8 with byte order mark", text: string(raw[3:])},
			bytes.IndexByte(raw, 0) < 0
	case bytes.HasPrefix(raw, bomUTF16LE):
		return roundTrip(raw, bomUTF16LE, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "UTF-16 LE")
	case bytes.HasPrefix(raw, bomUTF16BE):
		return roundTrip(raw, bomUTF16BE, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "UTF-16 BE")
	case bytes.IndexByte(raw, 0) >= 0:
		return document{}, false
	case utf8.Valid(raw):
		return document{name: "UTF-8", text: string(raw)}, true
	}
	if wide, stray := countUTF8(raw); wide > stray {
		return document{name: "UTF-8 with stray bytes", text: string(raw)}, true
	}
	guess := chardet.Detect(raw[:min(len(raw), detectBytes)])
	if guess.Confidence >= minConfidence {
		if cs, err := htmlindex.Get(guess.Encoding); err == nil {
			if d, ok := roundTrip(raw, nil, cs, guess.Encoding); ok {
				return d, true
			}
		}
	}
	if d, ok := roundTrip(raw, nil, charmap.Windows1252, "Windows-1252"); ok {
		return d, true
	}
	return roundTrip(raw, nil, charmap.ISO8859_1, "ISO-8859-1") // maps every byte, so it always fits
}

func roundTrip(raw, bom []byte, cs encoding.Encoding, name string) (document, bool) {
	text, err := cs.NewDecoder().Bytes(raw[len(bom):])
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return document{}, false
	}
	d := document{bom: bom, charset: cs, name: name, text: string(text)}
	back, err := d.encode(d.text)
	return d, err == nil && bytes.Equal(back, raw)
}

// encode returns the bytes of a file with this text in the document's
// encoding. The error says that a character does not exist in it.
func (d document) encode(text string) ([]byte, error) {
	if d.charset == nil {
		return append(bytes.Clone(d.bom), text...), nil
	}
	b, err := d.charset.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, refuse("the file is in %s, which cannot hold %s", d.name, d.firstMissing(text))
	}
	return append(bytes.Clone(d.bom), b...), nil
}

// firstMissing names the first character that the encoding does not have.
func (d document) firstMissing(text string) string {
	for _, r := range text {
		if r < utf8.RuneSelf {
			continue
		}
		if _, err := d.charset.NewEncoder().String(string(r)); err != nil {
			return "the character " + string(r)
		}
	}
	return "the new text"
}

// countUTF8 counts the characters of several bytes and the bytes that are
// not UTF-8.
func countUTF8(raw []byte) (wide, stray int) {
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if r == utf8.RuneError && n == 1 {
			stray++
		} else if n > 1 {
			wide++
		}
		raw = raw[n:]
	}
	return wide, stray
}

// lines is a document's text with plain newlines, and how to convert it back.
type lines struct {
	text   string // every line ends in \n, whatever the file has
	ending string // for new lines of the file
	crlf   []int  // offsets in text of the newlines that were \r\n
	orig   string
}

// newLines normalizes line endings. A carriage return alone ends a line only
// in a file that has no newline at all (old Macintosh files).
func newLines(s string) lines {
	l := lines{text: s, ending: "\n", orig: s}
	total := strings.Count(s, "\n")
	if total == 0 && strings.Contains(s, "\r") {
		l.text, l.ending = strings.ReplaceAll(s, "\r", "\n"), "\r"
		return l
	}
	pairs := strings.Count(s, "\r\n")
	if pairs == 0 {
		return l
	}
	if pairs*2 >= total {
		l.ending = "\r\n"
	}
	var b strings.Builder
	b.Grow(len(s))
	l.crlf = make([]int, 0, pairs)
	for {
		i := strings.Index(s, "\r\n")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		l.crlf = append(l.crlf, b.Len())
		b.WriteByte('\n')
		s = s[i+2:]
	}
	l.text = b.String()
	return l
}

// splice returns the original text with text[from:to] replaced, and nothing
// else changed. The replacement has plain newlines.
func (l lines) splice(from, to int, replacement string) string {
	replacement = plainNewlines(replacement)
	// The common beginning and end keep their bytes, with their line endings.
	old := l.text[from:to]
	n := 0
	for n < min(len(old), len(replacement)) && old[n] == replacement[n] {
		n++
	}
	from, old, replacement = from+n, old[n:], replacement[n:]
	n = 0
	for n < min(len(old), len(replacement)) && old[len(old)-1-n] == replacement[len(replacement)-1-n] {
		n++
	}
	to, replacement = to-n, replacement[:len(replacement)-n]
	if l.ending != "\n" {
		replacement = strings.ReplaceAll(replacement, "\n", l.ending)
	}
	return l.orig[:l.offset(from)] + replacement + l.orig[l.offset(to):]
}

// offset maps an offset in text to one in orig.
func (l lines) offset(at int) int {
	low, high := 0, len(l.crlf)
	for low < high {
		mid := (low + high) / 2
		if l.crlf[mid] < at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return at + low
}

func plainNewlines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// lineOf returns the number of the line, from 1, that offset at is in.
func lineOf(text string, at int) int { return strings.Count(text[:at], "\n") + 1 }

// split returns the lines of text without their newlines; a newline at the
// end does not start another line.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
