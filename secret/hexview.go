package secret

import "strings"

// hexRun are bytes that a text writes in hexadecimal, one after the other.
type hexRun struct {
	bytes    []byte
	from, to []int
	open     bool // the text ends in it
	part     int  // where a byte begins that is not complete at the end; -1 for none
}

// separators may stand between two bytes.
const (
	separators    = " \t\r\n:,-;"
	mostSeparated = 4
	perLine       = 16 // bytes in a line of a dump
)

// leastRun is how many bytes make a run: fewer occur in words.
const leastRun = 4

// hexRuns calls f for each run, and for a shorter one if the text ends in it. In dumps, lines begin with an offset and end with the bytes as text.
func hexRuns(text string, dumps bool, f func(*hexRun)) {
	var r hexRun
	for i := 0; i < len(text); {
		if digit(text[i]) < 0 || i > 0 && isWord(text[i-1]) {
			i++
			continue
		}
		r.bytes, r.from, r.to, r.open, r.part = r.bytes[:0], r.from[:0], r.to[:0], false, -1
		i = max(r.take(text, i, dumps), i+1)
		if len(r.bytes) >= leastRun || r.open {
			f(&r)
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// take reads a run and returns where it ends.
func (r *hexRun) take(text string, i int, dumps bool) int {
	line := 0 // bytes in this line
	for {
		if dumps {
			if _, n := number(text[i:], 16, 8); len(r.bytes) > 0 && text[i-1] == '\n' && i+n == len(text) { // of an offset
				r.open = true
				return len(text)
			}
			if at := behindOffset(text, i); at > i {
				i, line = at, 0
			}
		}
		at := i
		if strings.HasPrefix(text[at:], "0x") || strings.HasPrefix(text[at:], "0X") {
			at += 2
		}
		v, n := number(text[at:], 16, 2)
		switch {
		case n == 2 && (!dumps || line < perLine):
			r.bytes, r.from, r.to = append(r.bytes, byte(v)), append(r.from, i), append(r.to, at+2)
			i, line = at+2, line+1
		case dumps && len(r.bytes) > 0: // the column with the text, and the next line
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				r.to[len(r.to)-1], r.open = len(text), true
				return len(text)
			}
			r.to[len(r.to)-1] = i + end
			i += end + 1
			if _, n := number(text[i:], 16, 8); behindOffset(text, i) == i && i+n < len(text) {
				return i
			}
			line = 0
		default:
			if r.open = at+n == len(text); r.open {
				r.part = i
			}
			return i
		}
		next := i
		for next < len(text) && next-i < mostSeparated && strings.IndexByte(separators, text[next]) >= 0 {
			if dumps && text[next] == '\n' {
				next++
				line = 0
				break
			}
			next++
		}
		if i = next; i >= len(text) {
			r.open = true
			return i
		}
	}
}

// behindOffset returns where a line of a dump goes on behind its offset; i where there is
// none.
func behindOffset(text string, i int) int {
	if i > 0 && text[i-1] != '\n' {
		return i
	}
	_, n := number(text[i:], 16, 9)
	if n < 6 || n > 8 || i+n >= len(text) || strings.IndexByte(": \t", text[i+n]) < 0 {
		return i
	}
	for i += n; i < len(text) && strings.IndexByte(": \t", text[i]) >= 0; i++ {
	}
	return i
}
