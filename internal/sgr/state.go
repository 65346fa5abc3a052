package sgr

import (
	"strconv"
	"strings"
)

// State is how text looks after some sequences. The zero State is plain.
type State struct {
	flags  [10]bool // by the parameter that sets it: bold, dim, italic, underlined, reversed, struck out
	fg, bg string
}

// Apply changes the state by the allowed parameters of a sequence. No parameters mean
// [Reset].
func (s *State) Apply(params []int) {
	if len(params) == 0 {
		*s = State{}
		return
	}
	for len(params) > 0 {
		n := length(params)
		if n == 0 {
			return
		}
		if allowed(params[0]) {
			s.apply(params[:n])
		}
		params = params[n:]
	}
}

// apply takes one parameter, or the several of a colour.
func (s *State) apply(params []int) {
	switch p := params[0]; {
	case p == 0:
		*s = State{}
	case p < 10:
		s.flags[p] = true
	case p == 22:
		s.flags[1], s.flags[2] = false, false
	case p < 30:
		s.flags[p-20] = false
	case p == 39:
		s.fg = ""
	case p == 49:
		s.bg = ""
	case p < 40 || p >= 90 && p < 98:
		s.fg = join(params)
	default:
		s.bg = join(params)
	}
}

func join(params []int) string {
	words := make([]string, len(params))
	for i, p := range params {
		words[i] = strconv.Itoa(p)
	}
	return strings.Join(words, ";")
}

// String returns the parameters of a sequence that sets the state of plain text, such as
// "1;31"; nothing for plain.
func (s *State) String() string {
	var words []string
	for p, on := range s.flags {
		if on {
			words = append(words, strconv.Itoa(p))
		}
	}
	for _, colour := range []string{s.fg, s.bg} {
		if colour != "" {
			words = append(words, colour)
		}
	}
	return strings.Join(words, ";")
}
