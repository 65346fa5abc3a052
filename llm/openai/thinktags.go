package openai

import "strings"

// Tags around reasoning that local servers leave in the text if they are not
// configured to remove it.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkTags separates reasoning in tags from the beginning of a streamed text.
// Tags anywhere else are text.
type thinkTags struct {
	state   tagState
	pending string // the end of the text so far, which may yet become a tag
}

type tagState int

const (
	tagBegin tagState = iota
	tagInside
	tagAfter // between the reasoning and the text
	tagText
)

// feed takes a piece of the text and returns its reasoning and its text;
// undecided input is returned with a later piece, or by flush.
func (s *thinkTags) feed(piece string) (reasoning, text string) {
	if s.state == tagText {
		return "", piece
	}
	piece = s.pending + piece
	s.pending = ""
	if s.state == tagBegin {
		begin := strings.TrimLeft(piece, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, thinkOpen):
			s.state, piece = tagInside, begin[len(thinkOpen):]
		case len(piece) < 64 && strings.HasPrefix(thinkOpen, begin):
			s.pending = piece
			return "", ""
		default:
			s.state = tagText
			return "", piece
		}
	}
	if s.state == tagInside {
		var closed bool
		if reasoning, piece, closed = strings.Cut(piece, thinkClose); !closed {
			keep := partial(reasoning)
			s.pending = reasoning[len(reasoning)-keep:]
			return reasoning[:len(reasoning)-keep], ""
		}
		s.state = tagAfter
	}
	if text = strings.TrimLeft(piece, "\r\n"); text != "" {
		s.state = tagText
	}
	return reasoning, text
}

// flush returns the undecided rest.
func (s *thinkTags) flush() (reasoning, text string) {
	rest := s.pending
	s.pending = ""
	if s.state == tagInside {
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
