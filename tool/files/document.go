package files

import (
	"bytes"
	"strconv"
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

// Document is a text file in memory. Encoding text again gives the file's
// bytes back exactly; Decode checks that.
type Document struct {
	bom     []byte
	charset encoding.Encoding // nil for UTF-8
	Name    string            // of the charset, for messages
	// Text is the content in UTF-8. Stray bytes of a UTF-8 file stay in it as
	// they are, so it need not be valid.
	Text string
}

var (
	bomUTF8    = []byte{0xEF, 0xBB, 0xBF}
	bomUTF16LE = []byte{0xFF, 0xFE}
	bomUTF16BE = []byte{0xFE, 0xFF}
)

// Decode finds the encoding of a file. ok is false for a binary file.
func Decode(raw []byte) (d Document, ok bool) {
	switch {
	case bytes.HasPrefix(raw, bomUTF8):
		return Document{bom: bomUTF8, Name: "UTF-8 with byte order mark", Text: string(raw[3:])},
			bytes.IndexByte(raw, 0) < 0
	case bytes.HasPrefix(raw, bomUTF16LE):
		return roundTrip(raw, bomUTF16LE, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "UTF-16 LE")
	case bytes.HasPrefix(raw, bomUTF16BE):
		return roundTrip(raw, bomUTF16BE, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "UTF-16 BE")
	case bytes.IndexByte(raw, 0) >= 0:
		return Document{}, false
	case utf8.Valid(raw):
		return Document{Name: "UTF-8", Text: string(raw)}, true
	}
	if wide, stray := countUTF8(raw); wide > stray {
		return Document{Name: "UTF-8 with stray bytes", Text: string(raw)}, true
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

func roundTrip(raw, bom []byte, cs encoding.Encoding, name string) (Document, bool) {
	text, err := cs.NewDecoder().Bytes(raw[len(bom):])
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return Document{}, false
	}
	d := Document{bom: bom, charset: cs, Name: name, Text: string(text)}
	back, err := d.Encode(d.Text)
	return d, err == nil && bytes.Equal(back, raw)
}

// Encode returns the bytes of a file with this text in the document's
// encoding. The error says that a character does not exist in it.
func (d Document) Encode(text string) ([]byte, error) {
	if d.charset == nil {
		return append(bytes.Clone(d.bom), text...), nil
	}
	b, err := d.charset.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, Refuse("the file is in %s, which cannot hold %s", d.Name, d.firstMissing(text))
	}
	return append(bytes.Clone(d.bom), b...), nil
}

// firstMissing names the first character that the encoding does not have.
func (d Document) firstMissing(text string) string {
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

// Lines is a document's text with plain newlines, and how to convert it back.
type Lines struct {
	Text   string // every line ends in \n, whatever the file has
	ending string // for new lines of the file
	crlf   []int  // offsets in text of the newlines that were \r\n
	orig   string
}

// NewLines normalizes line endings. A carriage return alone ends a line only
// in a file that has no newline at all (old Macintosh files).
func NewLines(s string) Lines {
	l := Lines{Text: s, ending: "\n", orig: s}
	total := strings.Count(s, "\n")
	if total == 0 && strings.Contains(s, "\r") {
		l.Text, l.ending = strings.ReplaceAll(s, "\r", "\n"), "\r"
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
	l.Text = b.String()
	return l
}

// Edit is the replacement of a part of a text by offsets.
type Edit struct {
	From, To int
	With     string
}

// Splice returns the original text with the parts of Text replaced that the edits name, and
// nothing else changed. The edits are in the order of the text and do not overlap.
func (l Lines) Splice(edits ...Edit) string {
	var b strings.Builder
	done := 0
	for _, e := range edits {
		from, to, replacement := l.narrow(e)
		b.WriteString(l.orig[done:from])
		b.WriteString(replacement)
		done = to
	}
	b.WriteString(l.orig[done:])
	return b.String()
}

// narrow returns the part of the original text that an edit changes.
func (l Lines) narrow(e Edit) (from, to int, replacement string) {
	from, to, replacement = e.From, e.To, PlainNewlines(e.With)
	// The common beginning and end keep their bytes, with their line endings.
	old := l.Text[from:to]
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
	return l.offset(from), l.offset(to), replacement
}

// offset maps an offset in text to one in orig.
func (l Lines) offset(at int) int {
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

// PlainNewlines returns s with \n in the place of \r\n.
func PlainNewlines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// LineOf returns the number of the line, from 1, that offset at is in.
func LineOf(text string, at int) int { return strings.Count(text[:at], "\n") + 1 }

// Split returns the lines of text without their newlines; a newline at the
// end does not start another line.
func Split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// maxMatches bounds how many occurrences of a text are searched for.
const maxMatches = 20

// Matches returns the offsets of needle in text, overlapping ones too, up to 20.
func Matches(text, needle string) []int {
	var at []int
	for from := 0; len(at) < maxMatches; {
		i := strings.Index(text[from:], needle)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + 1
	}
	return at
}

// LineNumbers lists the lines of the offsets that [Matches] has found.
func LineNumbers(text string, at []int) string {
	numbers := make([]string, len(at))
	for i, pos := range at {
		numbers[i] = strconv.Itoa(LineOf(text, pos))
	}
	more := ""
	if len(at) == maxMatches {
		more = " and maybe more"
	}
	return strings.Join(numbers, ", ") + more
}
