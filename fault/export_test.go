package fault

// HasCodes reports whether a kind has codes of its own.
func HasCodes(k Kind) bool { _, ok := codes[k]; return ok }
