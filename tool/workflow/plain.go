package workflow

import "strings"

// plain is a script without the words async and await outside of texts and comments, which
// scripts for the reference have. Lines stay.
func plain(script string) string {
	var out strings.Builder
	for i := 0; i < len(script); {
		end := i + 1
		switch c := script[i]; {
		case c == '#':
			for end < len(script) && script[end] != '\n' {
				end++
			}
		case c == '"' || c == '\'':
			end = afterText(script, i)
		case word(c):
			for end < len(script) && word(script[end]) {
				end++
			}
			if w := script[i:end]; w == "async" || w == "await" {
				for end < len(script) && (script[end] == ' ' || script[end] == '\t') {
					end++
				}
				i = end
				continue
			}
		}
		out.WriteString(script[i:end])
		i = end
	}
	return out.String()
}

func word(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// afterText is the position behind the text that begins at i.
func afterText(script string, i int) int {
	quote := script[i : i+1]
	if strings.HasPrefix(script[i:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	for i += len(quote); i < len(script); {
		switch {
		case script[i] == '\\':
			i += 2
		case strings.HasPrefix(script[i:], quote):
			return i + len(quote)
		case len(quote) == 1 && script[i] == '\n':
			return i
		default:
			i++
		}
	}
	return len(script)
}
