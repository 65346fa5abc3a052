package mcp

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Lookup finds the value of a variable; ok is false when there is none.
type Lookup func(name string) (value string, ok bool)

var (
	braced       = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)
	anyReference = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$([A-Za-z_][A-Za-z0-9_]*)`)
)

// Expand replaces ${NAME} and ${NAME:-default} in a server's command,
// arguments, environment, directory, URL, headers and auth. A name that is not
// found and has no default stays as it is (docs/openhands/sdk-features.md
// section 5). Values are not expanded again.
func Expand(s Server, find Lookup) Server {
	one := func(v string) string { return expand(braced(), v, find) }
	s.Command, s.Cwd, s.URL = one(s.Command), one(s.Cwd), one(s.URL)
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = one(a)
	}
	s.Args = args
	s.Env, s.Headers = expandMap(s.Env, one), expandMap(s.Headers, one)
	if s.Auth != nil {
		a := *s.Auth
		a.Value, a.Username, a.Password = one(a.Value), one(a.Username), one(a.Password)
		a.Headers = expandMap(a.Headers, one)
		s.Auth = &a
	}
	return s
}

func expandMap(m map[string]string, one func(string) string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = one(v)
	}
	return out
}

func expand(pattern *regexp.Regexp, text string, find Lookup) string {
	return pattern.ReplaceAllStringFunc(text, func(match string) string {
		part := pattern.FindStringSubmatchIndex(match)
		name := group(match, part, 1)
		if name == "" {
			name = group(match, part, 3)
		}
		if find != nil {
			if v, ok := find(name); ok {
				return v
			}
		}
		if part[4] >= 0 {
			return group(match, part, 2)
		}
		return match
	})
}

// group returns submatch n, or "" if it did not match.
func group(s string, part []int, n int) string {
	if 2*n+1 >= len(part) || part[2*n] < 0 {
		return ""
	}
	return s[part[2*n]:part[2*n+1]]
}

// expandArguments replaces references to secrets in the strings of a call's
// arguments, $NAME as well, as a shell would.
func expandArguments(raw json.RawMessage, find Lookup) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	if find == nil || !bytes.ContainsRune(raw, '$') {
		return raw, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var args any
	if err := d.Decode(&args); err != nil {
		return nil, err
	}
	return json.Marshal(expandValue(args, find))
}

func expandValue(v any, find Lookup) any {
	switch v := v.(type) {
	case string:
		return expand(anyReference(), v, find)
	case []any:
		for i := range v {
			v[i] = expandValue(v[i], find)
		}
	case map[string]any:
		for k := range v {
			v[k] = expandValue(v[k], find)
		}
	}
	return v
}
