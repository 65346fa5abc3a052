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
	id, wrong := ParseUUID(q.last(name), "query", name)
	q.wrong = append(q.wrong, wrong...)
	return id
}

// PathUUID returns a UUID of the path as 32 hexadecimal digits.
func PathUUID(r *http.Request, name string) (string, error) {
	id, wrong := ParseUUID(r.PathValue(name), "path", name)
	if wrong != nil {
		return "", wrong
	}
	return id, nil
}

// groups are the lengths of a UUID's parts between its dashes (RFC 9562).
var groups = []int{8, 4, 4, 4, 12}

// ParseUUID reads a UUID of a request as 32 hexadecimal digits: plain, with
// dashes, or with dashes in braces or as a URN. loc says where it stood.
func ParseUUID(s string, loc ...any) (string, Violations) {
	text, before := s, 0
	switch {
	case strings.HasPrefix(s, "urn:uuid:"):
		text, before = s[len("urn:uuid:"):], len("urn:uuid:")
	case len(s) > 1 && s[0] == '{' && s[len(s)-1] == '}':
		text, before = s[1:len(s)-1], 1
	}
	why := uuidFault(text, before)
	if why == "" {
		return strings.ToLower(strings.ReplaceAll(text, "-", "")), nil
	}
	return "", Violations{{
		Type: "uuid_parsing", Loc: loc, Msg: "Input should be a valid UUID, " + why, Input: s,
		Ctx: map[string]any{"error": why},
	}}
}

// uuidFault says why text is no UUID, or "". Before it stood some letters, as
// they stand before the form with dashes only.
func uuidFault(text string, before int) string {
	for i, c := range text {
		if !strings.ContainsRune("0123456789abcdefABCDEF-", c) {
			return fmt.Sprintf("invalid character: found `%c` at %d", c, before+i+1)
		}
	}
	parts := strings.Split(text, "-")
	switch {
	case len(parts) == 1 && before == 0:
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
