package builds

import "strings"

// remoteAdd returns an instruction ADD that may fetch an address; "" for none. The engine
// itself would fetch it, with this machine's network. Names that it would have to expand or
// unquote first count as addresses: COPY does the same for files.
func remoteAdd(dockerfile string) string {
	for _, escape := range []string{`\`, "`"} { // a directive says which one holds
		for _, line := range instructions(dockerfile, escape) {
			word, rest := cutWord(line)
			if strings.EqualFold(word, "ONBUILD") {
				word, rest = cutWord(rest)
			}
			if !strings.EqualFold(word, "ADD") {
				continue
			}
			quotes := `'"`
			if strings.HasPrefix(rest, "[") {
				quotes = "'"
			}
			if strings.Contains(rest, "://") || strings.ContainsAny(rest, "$\\`"+quotes) {
				return line
			}
		}
	}
	return ""
}

// instructions returns the instructions of a Dockerfile, with continued lines joined.
func instructions(dockerfile, escape string) []string {
	var all []string
	part, continued := "", false
	for line := range strings.Lines(dockerfile) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") { // also between continued lines
			continue
		}
		if !continued {
			line = strings.TrimLeft(line, " \t\r\n\v\f")
		}
		line, continued = strings.CutSuffix(strings.TrimRight(line, " \t\r\n"), escape)
		if part += line; !continued {
			all, part = append(all, part), ""
		}
	}
	return append(all, part)
}

func cutWord(line string) (word, rest string) {
	line = strings.TrimSpace(line)
	end := strings.IndexAny(line, " \t\r\n\v\f")
	if end < 0 {
		return line, ""
	}
	return line[:end], strings.TrimSpace(line[end:])
}
