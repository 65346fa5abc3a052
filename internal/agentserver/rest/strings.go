package rest

import (
	"net/http"
	"regexp"

	"github.com/deft-dev/deft/schema"
)

// PathMatch returns a path parameter that must match a pattern as a whole.
// shown is the pattern as the reference writes it, for the violation.
func PathMatch(r *http.Request, name string, pattern *regexp.Regexp, shown string) (string, error) {
	v := r.PathValue(name)
	if len(v) <= 255 && pattern.MatchString(v) {
		return v, nil
	}
	return "", schema.Violations{{
		Type: "string_pattern_mismatch", Loc: []any{"path", name},
		Msg: "String should match pattern '" + shown + "'", Input: v, Ctx: map[string]any{"pattern": shown},
	}}
}

// NotEmpty returns the violation of a text that is absent or empty, or nil.
func NotEmpty(v *string, loc ...any) error {
	switch {
	case v == nil:
		return schema.Missing(loc...)
	case *v != "":
		return nil
	}
	return schema.Violations{{
		Type: "string_too_short", Loc: loc, Msg: "String should have at least 1 character", Input: *v,
		Ctx: map[string]any{"min_length": 1},
	}}
}
