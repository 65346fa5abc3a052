package codeact

// Neutral is neutral.
func Neutral(s string) string { return neutral(s) }

// HasTag reports whether text could be read as a tag of the prompt's own.
func HasTag(s string) bool { return marker().MatchString(s) || ownTag().MatchString(s) }
