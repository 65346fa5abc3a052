package runcommand

import (
	"io"
	"sync"
	"unicode"
	"unicode/utf8"

	runewidth "golang.org/x/text/width"
)

// screen is a terminal with a status line below the output: the line is erased
// before each write and drawn again after it. Without one it is a plain writer.
type screen struct {
	out    io.Writer
	color  bool
	status bool // whether the terminal can erase
	// width is how many characters the terminal shows in a row; 0 if that is unknown.
	width func() int

	mu      sync.Mutex
	text    string // wanted status
	drawn   bool
	midLine bool
	held    bool   // only the question to the user is written
	kept    []byte // comes after the answer
}

// maxKept bounds the output that waits for an answer, in bytes; the oldest is dropped.
const maxKept = 1 << 20

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		s.kept = append(s.kept, p...)
		s.kept = s.kept[max(0, len(s.kept)-maxKept):]
		return len(p), nil
	}
	return s.write(p)
}

// write writes; the caller holds mu.
func (s *screen) write(p []byte) (int, error) {
	s.erase()
	n, err := s.out.Write(p)
	s.midLine = p[len(p)-1] != '\n'
	s.draw()
	return n, err
}

// asking is a screen on which only the question to the user is shown: the output of
// others waits until the screen is released.
type asking struct{ s *screen }

// Write implements io.Writer.
func (q asking) Write(p []byte) (int, error) {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	q.s.erase()
	return q.s.out.Write(p)
}

// hold keeps back the output of others.
func (s *screen) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.held = true
	if s.midLine {
		_, _ = io.WriteString(s.out, "\n") // a closed terminal shows no question either
		s.midLine = false
	}
}

// release shows the output that was kept back. answered says that the user has ended the line of the
// question.
func (s *screen) release(answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !answered {
		_, _ = io.WriteString(s.out, "\n")
	}
	s.held = false
	if kept := s.kept; len(kept) > 0 {
		s.kept = nil
		_, _ = s.write(kept)
		return
	}
	s.draw()
}

// show sets the status line; "" takes it away.
func (s *screen) show(text string) {
	if !s.status {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == s.text {
		return
	}
	s.erase()
	s.text = text
	s.draw()
}

func (s *screen) erase() {
	if s.drawn {
		_, _ = io.WriteString(s.out, "\r\x1b[K") // a closed terminal has no status
		s.drawn = false
	}
}

func (s *screen) draw() {
	if s.text == "" || s.midLine || s.held {
		return
	}
	text := s.text
	if s.width != nil { // a line of two rows cannot be erased
		text = fit(text, s.width())
	}
	if s.color {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	_, _ = io.WriteString(s.out, text)
	s.drawn = true
}

// tabWidth is the most that a tab takes.
const tabWidth = 8

// fit cuts a text so that it takes less than width columns, and ends with "…" then.
func fit(text string, width int) string {
	if width <= 0 {
		return text
	}
	columns, end := 0, 0 // end is where there is room for the "…"
	for i, r := range text {
		switch kind := runewidth.LookupRune(r).Kind(); {
		case r == '\t':
			columns += tabWidth
		case kind == runewidth.EastAsianWide, kind == runewidth.EastAsianFullwidth:
			columns += 2
		case !unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
			columns++
		}
		if columns >= width {
			return text[:end] + "…"
		}
		if columns < width-1 {
			end = i + utf8.RuneLen(r)
		}
	}
	return text
}
