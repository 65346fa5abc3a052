package openai

import "strings"

// The tags around thoughts that local servers leave in the text when nobody
// configured them to take the thoughts out.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// inlineThought takes thoughts in tags off the begin of a streamed text. Tags
// anywhere else are text.
type inlineThought struct {
	state   inlineState
	pending string // of the text so far, what may yet become a tag
}

type inlineState int

const (
	inlineBegin inlineState = iota
	inlineInside
	inlineAfter // between the thoughts and the text
	inlineText
)

// feed takes a piece of the text and returns what of it is thought and what is
// text; the rest comes with a later piece, or with flush.
func (s *inlineThought) feed(piece string) (thought, text string) {
	if s.state == inlineText {
		return "", piece
	}
	piece = s.pending + piece
	s.pending = ""
	if s.state == inlineBegin {
		begin := strings.TrimLeft(piece, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, thinkOpen):
			s.state, piece = inlineInside, begin[len(thinkOpen):]
		case len(piece) < 64 && strings.HasPrefix(thinkOpen, begin):
			s.pending = piece
			return "", ""
		default:
			s.state = inlineText
			return "", piece
		}
	}
	if s.state == inlineInside {
		var closed bool
		if thought, piece, closed = strings.Cut(piece, thinkClose); !closed {
			keep := partial(thought)
			s.pending = thought[len(thought)-keep:]
			return thought[:len(thought)-keep], ""
		}
		s.state = inlineAfter
	}
	if text = strings.TrimLeft(piece, "\r\n"); text != "" {
		s.state = inlineText
	}
	return thought, text
}

// flush returns what no piece followed.
func (s *inlineThought) flush() (thought, text string) {
	rest := s.pending
	s.pending = ""
	if s.state == inlineInside {
		return rest, ""
	}
	return "", rest
}

// partial returns how many bytes at the end of s may begin the closing tag.
func partial(s string) int {
	for n := min(len(s), len(thinkClose)-1); n > 0; n-- {
		if strings.HasPrefix(thinkClose, s[len(s)-n:]) {
			return n
		}
	}
	return 0
}
