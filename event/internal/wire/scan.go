package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// maxDepth bounds the nesting of input, as encoding/json does.
const maxDepth = 10000

var errNotObject = errors.New("not a JSON object")

const (
	each = 0x0101010101010101 // times n puts n into all eight bytes
	high = 0x8080808080808080
)

// stops returns a mask whose lowest set bit is in the first byte of x that
// ends a run of plain string bytes: a control character, '"' or '\'.
func stops(x uint64) uint64 {
	quote, slash := x^(each*'"'), x^(each*'\\')
	return ((x-each*0x20)&^x | (quote-each)&^quote | (slash-each)&^slash) & high
}

// plain returns the index of the first byte at or after i that is a control
// character, '"' or '\', or len(b).
func plain[B []byte | string](b B, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := stops(load(b, i)); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

func load[B []byte | string](b B, i int) uint64 {
	var word [8]byte
	copy(word[:], b[i:i+8])
	return binary.LittleEndian.Uint64(word[:])
}

// Check verifies that b is exactly one JSON value (RFC 8259) in valid UTF-8.
func Check(b []byte) error {
	if !utf8.Valid(b) {
		return errors.New("not valid UTF-8")
	}
	i, ok := checkValue(b, space(b, 0), 0)
	if ok {
		i = space(b, i)
		ok = i == len(b)
	}
	if !ok {
		return fmt.Errorf("not valid JSON at byte %d", i)
	}
	return nil
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// checkValue returns the index after the value at i, or where it goes wrong.
func checkValue(b []byte, i, depth int) (int, bool) {
	if i >= len(b) {
		return i, false
	}
	switch b[i] {
	case '"':
		return checkString(b, i+1)
	case '{', '[':
		if depth++; depth > maxDepth {
			return i, false
		}
		if b[i] == '{' {
			return checkObject(b, i+1, depth)
		}
		return checkArray(b, i+1, depth)
	case 't':
		return checkWord(b, i, "true")
	case 'f':
		return checkWord(b, i, "false")
	case 'n':
		return checkWord(b, i, "null")
	}
	return checkNumber(b, i)
}

func checkWord(b []byte, i int, word string) (int, bool) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, false
	}
	return i + len(word), true
}

func checkObject(b []byte, i, depth int) (int, bool) {
	i = space(b, i)
	if i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	for {
		if i = space(b, i); i >= len(b) || b[i] != '"' {
			return i, false
		}
		var ok bool
		if i, ok = checkString(b, i+1); !ok {
			return i, false
		}
		if i = space(b, i); i >= len(b) || b[i] != ':' {
			return i, false
		}
		if i, ok = checkValue(b, space(b, i+1), depth); !ok {
			return i, false
		}
		if i = space(b, i); i >= len(b) {
			return i, false
		}
		if b[i] == '}' {
			return i + 1, true
		}
		if b[i] != ',' {
			return i, false
		}
		i++
	}
}

func checkArray(b []byte, i, depth int) (int, bool) {
	i = space(b, i)
	if i < len(b) && b[i] == ']' {
		return i + 1, true
	}
	for {
		var ok bool
		if i, ok = checkValue(b, space(b, i), depth); !ok {
			return i, false
		}
		if i = space(b, i); i >= len(b) {
			return i, false
		}
		if b[i] == ']' {
			return i + 1, true
		}
		if b[i] != ',' {
			return i, false
		}
		i++
	}
}

// checkString checks from the byte after the opening quote.
func checkString(b []byte, i int) (int, bool) {
	for {
		i = plain(b, i)
		switch {
		case i >= len(b) || b[i] < 0x20:
			return i, false
		case b[i] == '"':
			return i + 1, true
		case i+1 >= len(b):
			return i, false
		case b[i+1] == 'u':
			if i+6 > len(b) || hex4(b[i+2:]) < 0 {
				return i, false
			}
			i += 6
		case bytes.IndexByte([]byte(`"\/bfnrt`), b[i+1]) >= 0:
			i += 2
		default:
			return i, false
		}
	}
}

func checkNumber(b []byte, i int) (int, bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	from := i
	if i = digits(b, i); i == from || (b[from] == '0' && i > from+1) {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = digits(b, from); i == from {
			return i, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		if i = digits(b, from); i == from {
			return i, false
		}
	}
	return i, true
}

func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}
