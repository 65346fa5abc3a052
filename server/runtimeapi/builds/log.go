package builds

import (
	"bytes"
	"strings"
)

// maxLog bounds the log of a build in bytes.
const maxLog = 256 << 10

// log is a build's output: the last lines, as far as they fit.
type log struct {
	skipped int64 // bytes that came before text
	text    []byte
}

// add adds a line. It cuts half of a full log at once, so that few lines copy it.
func (l *log) add(line string) {
	l.text = append(append(l.text, strings.ToValidUTF8(line, "\uFFFD")...), '\n')
	if len(l.text) <= maxLog {
		return
	}
	cut := len(l.text) - maxLog/2
	if end := bytes.IndexByte(l.text[cut:], '\n'); end >= 0 {
		cut += end + 1
	}
	l.skipped += int64(cut)
	l.text = append(l.text[:0], l.text[cut:]...)
}

// from returns the text from an offset on, and the offset after it.
func (l *log) from(offset int64) (text string, next int64) {
	next = l.skipped + int64(len(l.text))
	return string(l.text[min(max(offset, l.skipped), next)-l.skipped:]), next
}
