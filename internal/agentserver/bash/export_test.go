package bash

// Decode decodes bytes that arrive in these parts.
func Decode(parts ...[]byte) string {
	var d decoder
	var out []byte
	for _, p := range parts {
		out = d.append(out, p)
	}
	return string(d.finish(out))
}

// EntryOf reports what a file's name says, as a name again.
func EntryOf(name string) (string, bool) {
	e := entryOf(name)
	if e == nil {
		return "", false
	}
	return e.name(), true
}
