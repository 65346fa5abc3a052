package terminal

import "strings"

// keyNames maps the names of keys (docs/openhands/tools.md section 2) to the bytes
// that a VT100-like terminal sends for them.
var keyNames = map[string]string{
	"ENTER": "\r", "RETURN": "\r", "TAB": "\t", "BTAB": "\x1b[Z",
	"ESC": "\x1b", "ESCAPE": "\x1b", "BS": "\x7f", "BACKSPACE": "\x7f",
	"SPACE": " ", "DEL": "\x1b[3~", "DELETE": "\x1b[3~", "INS": "\x1b[2~", "INSERT": "\x1b[2~",
	"UP": "\x1b[A", "DOWN": "\x1b[B", "RIGHT": "\x1b[C", "LEFT": "\x1b[D",
	"HOME": "\x1b[H", "END": "\x1b[F",
	"PGUP": "\x1b[5~", "PAGEUP": "\x1b[5~", "PGDN": "\x1b[6~", "PAGEDOWN": "\x1b[6~",
	"F1": "\x1bOP", "F2": "\x1bOQ", "F3": "\x1bOR", "F4": "\x1bOS",
	"F5": "\x1b[15~", "F6": "\x1b[17~", "F7": "\x1b[18~", "F8": "\x1b[19~",
	"F9": "\x1b[20~", "F10": "\x1b[21~", "F11": "\x1b[23~", "F12": "\x1b[24~",
	`C-\`: "\x1c", "C-]": "\x1d", "C-^": "\x1e", "C-_": "\x1f", "C-@": "\x00", "C-SPACE": "\x00",
}

// keyBytes returns the bytes for the name of a key, and whether s is one. Names
// are matched without regard to case for C-x ("C-c", "c-C", "Ctrl+C") and in
// capitals for the others, so that the words "up" or "end" can be sent as text.
func keyBytes(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if b, ok := keyNames[s]; ok {
		return b, true
	}
	name := strings.ToUpper(s)
	for _, prefix := range []string{"C-", "CTRL-", "CTRL+", "^"} {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if len(rest) == 1 && rest[0] >= 'A' && rest[0] <= 'Z' {
			return string(rest[0] - '@'), true
		}
		if b, ok := keyNames["C-"+rest]; ok {
			return b, true
		}
	}
	return "", false
}

// inputBytes returns the bytes for an input: a key's bytes, or the text and the
// ENTER that ends it.
func inputBytes(s string) string {
	if b, ok := keyBytes(s); ok {
		return b
	}
	// ENTER is a carriage return: programs in raw mode tell it from C-j, and
	// the line discipline turns it into a newline for all others.
	return strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n") + "\r"
}
