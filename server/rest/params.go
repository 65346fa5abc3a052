package rest

import (
	"math"
	"net/http"

	"github.com/deft-dev/deft/schema"
)

// Limit returns the size of a page, from 1 to most. The violation is the
// reference's "greater than 0" (docs/openhands/sdk-wire-1.58.md section B.4).
func (q *Query) Limit(name string, def, most int) int {
	n := q.Int(name, def, math.MinInt, most)
	if n > 0 {
		return n
	}
	q.add("greater_than", name, "Input should be greater than 0", map[string]any{"gt": 0})
	return def
}

// Literal is [Query.Enum] with the violation of parameters that the reference
// declares as a literal.
func (q *Query) Literal(name, def string, allowed ...string) string {
	before := len(q.wrong)
	v := q.Enum(name, def, allowed...)
	if len(q.wrong) > before {
		q.wrong[before].Type = "literal_error"
	}
	return v
}

// UUID returns a UUID as 32 hexadecimal digits, or "" for none.
func (q *Query) UUID(name string) string {
	if !q.values.Has(name) {
		return ""
	}
	id, wrong := schema.ParseUUID(q.last(name), "query", name)
	q.wrong = append(q.wrong, wrong...)
	return id
}

// PathUUID returns a UUID of the path as 32 hexadecimal digits.
func PathUUID(r *http.Request, name string) (string, error) {
	id, wrong := schema.ParseUUID(r.PathValue(name), "path", name)
	if wrong != nil {
		return "", wrong
	}
	return id, nil
}
