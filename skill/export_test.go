package skill

// HasTag reports whether text could be read as a tag of the prompt's own.
func HasTag(s string) bool { return marker().MatchString(s) || ownTag().MatchString(s) }
