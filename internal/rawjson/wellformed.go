package rawjson

import (
	"bytes"
	"strconv"
)

// WellFormed returns JSON in which each escape of half a surrogate pair is \ufffd.
// encoding/json accepts such halves, but most providers refuse a document with one. The
// input is returned itself if it has none.
func WellFormed[T ~string | ~[]byte](text T) T {
	var fixed []byte
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(text[i:])
		switch {
		case !ok || unit < 0xd800 || unit > 0xdfff:
			i++ // a backslash may follow as well
			continue
		case unit < 0xdc00:
			if low, ok := escapedUnit(text[i+6:]); ok && low >= 0xdc00 && low <= 0xdfff {
				i += 11
				continue
			}
		}
		if fixed == nil {
			fixed = bytes.Clone([]byte(text))
		}
		copy(fixed[i:], `\ufffd`)
		i += 5
	}
	if fixed == nil {
		return text
	}
	return T(fixed)
}

// escapedUnit reads the escape \uXXXX at the beginning of text.
func escapedUnit[T ~string | ~[]byte](text T) (unit uint64, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return unit, err == nil
}
