package terminal

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// progressMax bounds one chunk of progress.
const progressMax = 8 << 10

// progress collects text for a live view. It is lossy: when more comes than a
// chunk carries, the oldest is left out. Not safe for concurrent use.
type progress struct {
	buf     []byte
	skipped int64
}

func (p *progress) add(b []byte) {
	if len(b) > progressMax {
		p.skipped += int64(len(b) - progressMax)
		b = b[len(b)-progressMax:]
	}
	// Capacity for twice as much, so that small pieces are not moved each time.
	if len(p.buf)+len(b) > 2*progressMax {
		p.trim(progressMax - len(b))
	}
	p.buf = append(p.buf, b...)
}

// trim leaves the last n bytes.
func (p *progress) trim(n int) {
	if over := len(p.buf) - n; over > 0 {
		p.skipped += int64(over)
		p.buf = append(p.buf[:0], p.buf[over:]...)
	}
}

// take returns the text collected since the last call.
func (p *progress) take() string {
	p.trim(progressMax)
	b := p.buf
	if p.skipped > 0 {
		if _, rest, ok := bytes.Cut(b, newlineByte); ok { // a line that is cut may begin within an escape sequence
			p.skipped += int64(len(b) - len(rest))
			b = rest
		}
		for len(b) > 0 && !utf8.RuneStart(b[0]) {
			b = b[1:]
		}
	}
	s := string(b)
	if p.skipped > 0 {
		s = fmt.Sprintf("\n[%d bytes skipped in this live view]\n", p.skipped) + s
	}
	p.buf, p.skipped = p.buf[:0], 0
	return s
}
