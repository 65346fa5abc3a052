package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/tool"
)

// capture holds the text that goes into one observation. It keeps the first
// and the last half of the limit in memory; once there is more than the
// limit, all of it also goes to a file, until the file is full.
// Not safe for concurrent use.
type capture struct {
	mask    tool.Masker // nil for none
	limit   int         // characters
	dir     string      // where the full text goes; empty for nowhere
	maxFile int64

	head      []byte // whole characters
	headChars int
	any       bool   // there was text, which mask may still hold back
	tail      []byte // the last half plus slack
	total     int64  // bytes
	chars     int64
	looks     looks

	file     *os.File
	w        *bufio.Writer
	written  int64
	capped   bool
	spillErr error
}

func newCapture(limit int, dir string, maxFile int64) *capture {
	return &capture{limit: limit, dir: dir, maxFile: maxFile}
}

// addStyled appends text with a style.
func (c *capture) addStyled(p []byte, style string) {
	if style != c.looks.last() && len(p) > 0 {
		at := c.chars
		if c.mask != nil {
			at += int64(c.mask.Held())
		}
		c.looks.add(at, style)
	}
	c.add(p)
}

// add appends text, which is valid UTF-8 and ends at a character border.
func (c *capture) add(p []byte) {
	c.any = c.any || len(p) > 0
	if c.mask != nil {
		p = []byte(c.mask.Feed(string(p)))
	}
	c.keep(p)
}

// keep appends text without secrets.
func (c *capture) keep(p []byte) {
	if len(p) == 0 {
		return
	}
	n := utf8.RuneCount(p)
	over := c.chars+int64(n) > int64(c.limit)
	if over && c.file == nil && c.spillErr == nil {
		c.openFile()
	}
	c.total += int64(len(p))
	c.chars += int64(n)
	if c.file != nil {
		c.spill(p)
	}
	if space := c.limit/2 - c.headChars; space > 0 {
		cut, k := prefixChars(p, space)
		c.head = append(c.head, p[:cut]...)
		c.headChars += k
		p = p[cut:]
	}
	c.addTail(p)
}

// addTail keeps at least the last half of the limit, and at most four times
// the bytes that it can have.
func (c *capture) addTail(p []byte) {
	keep := (c.limit - c.limit/2) * utf8.UTFMax
	if len(p) > keep {
		p = p[len(p)-keep:]
		c.tail = c.tail[:0]
	}
	if len(c.tail)+len(p) > 4*keep {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keep:]...)
	}
	c.tail = append(c.tail, p...)
}

// prefixChars returns the length in bytes of the first n characters of p, and
// how many there are.
func prefixChars(p []byte, n int) (cut, chars int) {
	for cut < len(p) && chars < n {
		_, size := utf8.DecodeRune(p[cut:])
		cut += size
		chars++
	}
	return cut, chars
}

// suffixChars returns the last n characters of p.
func suffixChars(p []byte, n int) []byte {
	i := len(p)
	for ; i > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRune(p[:i])
		i -= size
	}
	return p[i:]
}

func (c *capture) openFile() {
	if c.dir == "" {
		c.spillErr = errors.New("no directory for full outputs is configured")
		return
	}
	if c.spillErr = os.MkdirAll(c.dir, 0o700); c.spillErr != nil {
		return
	}
	c.file, c.spillErr = os.CreateTemp(c.dir, "terminal-*.txt")
	if c.spillErr != nil {
		return
	}
	c.w = bufio.NewWriterSize(c.file, 64<<10)
	c.spill(c.head)
	c.spill(c.tail)
}

func (c *capture) spill(p []byte) {
	if c.capped || c.spillErr != nil {
		return
	}
	if space := c.maxFile - c.written; int64(len(p)) > space {
		p = p[:space]
		c.capped = true
	}
	n, err := c.w.Write(p)
	c.written += int64(n)
	c.spillErr = err
}

// clipped is the text of an observation.
type clipped struct {
	text   string
	styles string // of text, see event.TerminalMetadata
	file   string // where the full text is; empty when nothing was cut or saved
}

// finish ends the capture and returns its text, cut if it is too long.
func (c *capture) finish() clipped {
	if c.mask != nil {
		c.keep([]byte(c.mask.Flush()))
	}
	if c.chars <= int64(c.limit) {
		return clipped{text: string(c.head) + string(c.tail), styles: c.looks.of(piece{to: c.chars})}
	}
	out := clipped{}
	if c.file != nil {
		c.spillErr = errors.Join(c.spillErr, c.w.Flush(), c.file.Close())
		out.file = c.file.Name()
	}
	tail := suffixChars(c.tail, c.limit-c.limit/2)
	notice := c.notice(out.file)
	out.text = string(c.head) + notice + string(tail)
	end := c.chars - int64(c.limit-c.limit/2)
	out.styles = c.looks.of(piece{to: int64(c.headChars)}, piece{from: end, to: c.chars, at: int64(c.headChars + utf8.RuneCountInString(notice))})
	return out
}

// drop ends a capture that will not be read.
func (c *capture) drop() {
	if c.file != nil {
		_ = c.file.Close()
		_ = os.Remove(c.file.Name())
	}
}

func (c *capture) notice(file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n[… %d characters left out here; ", c.chars-int64(c.limit))
	switch {
	case file == "":
		fmt.Fprintf(&b, "the full output was not saved: %v", c.spillErr)
	case c.spillErr != nil:
		fmt.Fprintf(&b, "saving the full output to %s failed after %d bytes: %v", file, c.written, c.spillErr)
	case c.capped:
		fmt.Fprintf(&b, "the first %d of %d bytes of the output are in %s", c.written, c.total, file)
	default:
		fmt.Fprintf(&b, "the full output is in %s", file)
	}
	b.WriteString(" …]\n")
	return b.String()
}
