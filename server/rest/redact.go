package rest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/schema"
)

// redacted replaces text that could be a secret.
const redacted = "<redacted>"

// Names of fields with secrets contain one of secretParts; below a field of whole
// everything is secret (openhands/sdk/utils/redact.py, and the fields in which
// clients send keys).
var (
	secretParts = []string{"AUTHORIZATION", "COOKIE", "CREDENTIAL", "KEY", "PASSWORD", "SECRET", "SESSION", "TOKEN"}
	whole       = []string{"environment", "env", "headers", "extra_headers", "auth", "value"}
)

func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(name, part) })
}

// sanitized returns the violations without secrets in their quotations of a
// request: an answer goes through proxies and into logs and reports.
func sanitized(v schema.Violations) schema.Violations {
	out := slices.Clone(v[:min(len(v), schema.MostViolations)])
	for i, one := range out {
		loc := one.Loc
		if one.Type == "missing" && len(loc) > 0 {
			loc = loc[:len(loc)-1] // the object that lacks it is quoted
		}
		switch {
		case one.Input != nil && one.Input != "" && amongSecrets(loc):
			out[i].Input = bounded(hide(one.Input))
		default:
			out[i].Input = bounded(sanitize(one.Input))
		}
	}
	return out
}

// bounded returns a value, or nil for one that is too long to be quoted.
func bounded(v any) any {
	switch v := v.(type) {
	case nil, bool, int, float64, json.Number:
		return v
	case string:
		if len(v) > maxQuoted {
			return nil
		}
		return v
	}
	if raw, err := json.Marshal(v); err != nil || len(raw) > maxQuoted {
		return nil
	}
	return v
}

// amongSecrets reports whether a place in a body is at or below a name of
// secrets.
func amongSecrets(loc []any) bool {
	return len(loc) > 1 && loc[0] == "body" && slices.ContainsFunc(loc[1:], func(part any) bool {
		name, ok := part.(string)
		return ok && (secretName(name) || slices.Contains(whole, strings.ToLower(name)))
	})
}

func sanitize(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int, float64, json.Number:
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			switch {
			case slices.Contains(whole, strings.ToLower(name)):
				out[name] = hide(value)
			case secretName(name):
				out[name] = redacted
			default:
				out[name] = sanitize(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = sanitize(v[i])
		}
		return out
	}
	// Of another type: its JSON.
	raw, err := json.Marshal(v)
	var plain any
	if err != nil || json.Unmarshal(raw, &plain) != nil {
		return nil
	}
	return sanitize(plain)
}

// hide keeps the names and replaces all values.
func hide(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = hide(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = hide(v[i])
		}
		return out
	case nil, bool, string, int, float64, json.Number:
		return redacted
	}
	return hide(sanitize(v))
}
