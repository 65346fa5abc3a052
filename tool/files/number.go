package files

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Number renders lines first to last (from 1) like cat -n, up to the limit of
// a response. shown is the last one that it renders.
func (x *Files) Number(all []string, first, last int) (text string, shown int) {
	var b strings.Builder
	space := x.cfg.MaxResponse
	for i := first; i <= last; i++ {
		line := fmt.Sprintf("%6d\t%s\n", i, strings.ToValidUTF8(all[i-1], "\uFFFD"))
		size := utf8.RuneCountInString(line)
		if size > space {
			if i > first {
				return b.String(), i - 1
			}
			b.WriteString(string([]rune(line)[:space])) // even one line is too long
			fmt.Fprintf(&b, "\n[Clipped: line %d has %d characters; use the terminal (cut -c) to see more of it.]\n", i, size)
			return b.String(), i
		}
		b.WriteString(line)
		space -= size
	}
	return b.String(), last
}
