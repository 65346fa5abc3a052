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
