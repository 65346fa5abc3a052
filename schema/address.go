package schema

import (
	"net/url"
	"strings"
)

// Address is a URL. Values of its query whose names suggest a secret, its password, and parts of
// its path that look like a token, as services have them for MCP, are sealed and masked as in [Headers]. [Unmasked] finds the address that a client sends
// back as it was shown.
type Address struct{}

func (Address) check(r *reader, v any, loc []any) any {
	s := String{Min: 1}.check(r, v, loc)
	text, _ := s.(string)
	if r.Keys == nil || !strings.Contains(text, sealedPrefix) {
		return s
	}
	return eachSecret(text, func(v string) string {
		plain, _ := r.secret(v).(string)
		return plain
	})
}

func (Address) dump(w *writer, v any) any {
	s, ok := v.(string)
	if !ok || w.Mode == Plain {
		return v
	}
	return eachSecret(s, func(v string) string {
		hidden, _ := w.secret(v, false).(string)
		return hidden
	})
}

// Unmasked returns the one of stored addresses that is shown as an address with masks, and an
// address without any itself.
func Unmasked(address string, stored ...string) string {
	if !strings.Contains(address, Mask) {
		return address
	}
	for _, s := range stored {
		if eachSecret(s, func(string) string { return Mask }) == address {
			return s
		}
	}
	return address
}

// eachSecret replaces the secret values of an address, and leaves the rest as it is written.
func eachSecret(address string, by func(value string) string) string {
	front, fragment, hasFragment := strings.Cut(address, "#")
	front, query, hasQuery := strings.Cut(front, "?")
	if scheme, rest, ok := strings.Cut(front, "://"); ok {
		authority, path, hasPath := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			if user, password, ok := strings.Cut(authority[:at], ":"); ok {
				authority = user + ":" + replaced(password, url.PathUnescape, by) + authority[at:]
			}
		}
		if front = scheme + "://" + authority; hasPath {
			parts := strings.Split(path, "/")
			for i, part := range parts {
				if likeToken(part) {
					parts[i] = replaced(part, url.PathUnescape, by)
				}
			}
			front += "/" + strings.Join(parts, "/")
		}
	}
	if hasQuery {
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			if plain, err := url.QueryUnescape(name); err == nil && secretName(plain) {
				pairs[i] = name + "=" + replaced(value, url.QueryUnescape, by)
			}
		}
		front += "?" + strings.Join(pairs, "&")
	}
	if hasFragment {
		front += "#" + fragment
	}
	return front
}

// likeToken reports whether a part of a path is no name: it is long, of letters and some digits.
func likeToken(part string) bool {
	const least, leastDigits = 20, 3
	digits, letters := 0, 0
	for _, c := range []byte(part) {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			letters++
		case strings.IndexByte("-_=~%", c) < 0:
			return false
		}
	}
	return strings.HasPrefix(part, sealedPrefix) || len(part) >= least && digits >= leastDigits && letters > 0
}

func replaced(value string, read func(string) (string, error), by func(string) string) string {
	plain, err := read(value)
	if err != nil || plain == "" {
		return value
	}
	next := by(plain)
	switch next {
	case plain:
		return value
	case Mask:
		return Mask
	}
	return url.QueryEscape(next)
}
