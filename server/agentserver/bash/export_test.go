package bash

// Decode decodes bytes that arrive in these parts.
func Decode(parts ...[]byte) string {
	st := newStream()
	for _, p := range parts {
		_, _ = st.decoder.Write(p)
	}
	_ = st.decoder.Close()
	return string(st.text)
}

// EntryOf parses a file's name and returns it as a name again.
func EntryOf(name string) (string, bool) {
	e := entryOf(name)
	if e == nil {
		return "", false
	}
	return e.name(), true
}
