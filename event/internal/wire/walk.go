package wire

import "slices"

import "bytes"

// Member is one name and value of an object, as they stand in the input.
type Member struct {
	Name  []byte // unescaped
	Value []byte
}

// Members appends the members of the checked object b to into.
func Members(b []byte, into []Member) ([]Member, error) {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return into, errNotObject
	}
	for i = space(b, i+1); b[i] != '}'; {
		from := i
		i = skipString(b, i)
		name := b[from+1 : i-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(unquote(b[from:i]))
		}
		i = space(b, space(b, i)+1) // the colon
		from = i
		i = skip(b, i)
		into = append(into, Member{name, b[from:i]})
		if i = space(b, i); b[i] == ',' {
			i = space(b, i+1)
		}
	}
	return into, nil
}

// String returns the value of the last member of the given name, or "" when
// there is none or it is not a string.
func String(members []Member, name string) string {
	for _, member := range slices.Backward(members) {
		if m := member; string(m.Name) == name {
			if m.Value[0] != '"' {
				return ""
			}
			return unquote(m.Value)
		}
	}
	return ""
}

// Has reports whether there is a member of the given name.
func Has(members []Member, name string) bool {
	return slices.ContainsFunc(members, func(m Member) bool { return string(m.Name) == name })
}

// elements calls f with each element of the checked array b.
func elements(b []byte, f func(v []byte) error) error {
	for i := space(b, 1); b[i] != ']'; {
		from := i
		i = skip(b, i)
		if err := f(b[from:i]); err != nil {
			return err
		}
		if i = space(b, i); b[i] == ',' {
			i = space(b, i+1)
		}
	}
	return nil
}

// skip returns the index after the checked value at i.
func skip(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

func skipNested(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			i = skipString(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// skipString returns the index after the string whose opening quote is at i.
func skipString(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}
