package runcommand

import (
	"io"
	"sync"
)

// screen is a terminal with a status line below the output: the line is erased
// before each write and drawn again after it. Without one it is a plain writer.
type screen struct {
	out    io.Writer
	color  bool
	status bool // whether the terminal can erase

	mu      sync.Mutex
	text    string // wanted status
	drawn   bool
	midLine bool
}

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	n, err := s.out.Write(p)
	s.midLine = p[len(p)-1] != '\n'
	s.draw()
	return n, err
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

// lineEnded says that the user has ended the line.
func (s *screen) lineEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.midLine = false
}

func (s *screen) erase() {
	if s.drawn {
		_, _ = io.WriteString(s.out, "\r\x1b[K") // a closed terminal has no status
		s.drawn = false
	}
}

func (s *screen) draw() {
	if s.text == "" || s.midLine {
		return
	}
	text := s.text
	if s.color {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	_, _ = io.WriteString(s.out, text)
	s.drawn = true
}
