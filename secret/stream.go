package secret

import (
	"strings"
	"unicode/utf8"
)

// Stream masks text that arrives in pieces. It holds back text that may still
// become a part of a secret and nothing else: text that begins no secret is passed
// on at once. One goroutine uses it.
type Stream struct {
	r    *Registry
	held string
	skip int // how much of held belongs to text that was replaced already
}

// Stream returns a new Stream. It uses the secrets that the registry holds at
// the time of each call.
func (r *Registry) Stream() *Stream { return &Stream{r: r} }

// Feed takes more text and returns the text that can be shown.
func (s *Stream) Feed(text string) string {
	m := s.r.matcher()
	if s.held == "" && (m == nil || text == "") {
		return text
	}
	text = s.held + text
	if m == nil {
		s.held, s.skip = "", 0
		return text
	}
	found, hold := m.find(text)
	return s.release(text, found, len(text)-hold)
}

// Held returns the number of characters that are held back.
func (s *Stream) Held() int { return utf8.RuneCountInString(s.held) }

// Flush returns the text that is held back: no more text comes.
func (s *Stream) Flush() string {
	m := s.r.matcher()
	if s.held == "" || m == nil {
		text := s.held
		s.held, s.skip = "", 0
		return text
	}
	found, _ := m.find(s.held)
	out := s.release(s.held, found, len(s.held))
	s.held, s.skip = "", 0
	return out
}

// release returns text up to cut, where nothing that begins before it can
// grow any more, and holds the rest back.
func (s *Stream) release(text string, found []span, cut int) string {
	if len(found) == 0 && s.skip == 0 {
		s.held = text[cut:]
		return text[:cut]
	}
	var out strings.Builder
	pos := s.skip
	for _, f := range found {
		if f.from < pos {
			pos = max(pos, f.to)
			continue
		}
		if f.from >= cut {
			break
		}
		out.WriteString(text[pos:f.from])
		out.WriteString(Hidden)
		pos = f.to
	}
	if pos < cut {
		out.WriteString(text[pos:cut])
	}
	s.held, s.skip = text[cut:], max(pos-cut, 0)
	return out.String()
}
