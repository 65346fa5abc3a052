package rest

import (
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
)

// Limit returns the size of a page, from 1 to most. It is worded as the
// reference words "greater than 0" (sdk-wire-1.58.md section B.4).
func (q *Query) Limit(name string, def, most int) int {
	n := q.Int(name, def, math.MinInt, most)
	if n > 0 {
		return n
	}
	q.add("greater_than", name, "Input should be greater than 0", map[string]any{"gt": 0})
	return def
}

// Literal is [Query.Enum] for parameters that the reference declares as a
// literal; only the violation's type differs.
func (q *Query) Literal(name, def string, allowed ...string) string {
	before := len(q.wrong)
	v := q.Enum(name, def, allowed...)
	if len(q.wrong) > before {
		q.wrong[before].Type = "literal_error"
	}
	return v
}

// UUID returns a UUID as 32 hexadecimal digits, or "" when it was not sent.
func (q *Query) UUID(name string) string {
	if !q.values.Has(name) {
		return ""
	}
	id, wrong := parseUUID(q.last(name), "query", name)
	q.wrong = append(q.wrong, wrong...)
	return id
}

// PathUUID returns a UUID of the path as 32 hexadecimal digits.
func PathUUID(r *http.Request, name string) (string, error) {
	id, wrong := parseUUID(r.PathValue(name), "path", name)
	if wrong != nil {
		return "", wrong
	}
	return id, nil
}

// groups are the lengths of a UUID's parts between its dashes (RFC 9562).
var groups = []int{8, 4, 4, 4, 12}

// parseUUID takes a UUID plain, with dashes, in braces, or as a URN.
func parseUUID(s string, loc ...any) (string, Violations) {
	text := strings.TrimPrefix(s, "urn:uuid:")
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") && len(text) == 38 {
		text = text[1:37]
	}
	why := uuidFault(text)
	if why == "" {
		return strings.ToLower(strings.ReplaceAll(text, "-", "")), nil
	}
	return "", Violations{{
		Type: "uuid_parsing", Loc: loc, Msg: "Input should be a valid UUID, " + why, Input: s,
		Ctx: map[string]any{"error": why},
	}}
}

// uuidFault says why text is no UUID, or "".
func uuidFault(text string) string {
	for i, c := range text {
		if !strings.ContainsRune("0123456789abcdefABCDEF-", c) {
			return fmt.Sprintf("invalid character: found `%c` at %d", c, i+1)
		}
	}
	parts := strings.Split(text, "-")
	switch {
	case len(parts) == 1:
		if len(text) != hex.EncodedLen(16) {
			return fmt.Sprintf("invalid length: expected length 32 for simple format, found %d", len(text))
		}
	case len(parts) != len(groups):
		return fmt.Sprintf("invalid group count: expected 5, found %d", len(parts))
	default:
		got := make([]int, 0, len(parts))
		for _, p := range parts {
			got = append(got, len(p))
		}
		for i := range got {
			if got[i] != groups[i] && !slices.Equal(got, groups) {
				return fmt.Sprintf("invalid group length in group %d: expected %d, found %d", i, groups[i], got[i])
			}
		}
	}
	return ""
}
