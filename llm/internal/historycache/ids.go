package historycache

import "strings"

// SafeID returns the id of a call with _ in place of other characters than
// letters, digits, _ and -: ids of other providers may contain dots, colons or
// anything else.
func SafeID(id string) string {
	for i := range len(id) {
		if !isWordByte(id[i]) {
			return strings.Map(wordRune, id)
		}
	}
	return id
}

func wordRune(r rune) rune {
	if r < 0x80 && isWordByte(byte(r)) {
		return r
	}
	return '_'
}

func isWordByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// IsBase64 reports whether a signature or redacted reasoning may be base64, of
// either alphabet. In a conversation that changed its provider it often is not,
// and an API refuses the whole history for a foreign one.
func IsBase64(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isWordByte(c) && c != '+' && c != '/' && c != '=' {
			return false
		}
	}
	return s != ""
}
