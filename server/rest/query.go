package rest

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/schema"
)

// Query reads the query of a request and collects its violations. The last of
// repeated parameters counts, as in the reference.
type Query struct {
	values url.Values
	wrong  schema.Violations
}

// QueryOf returns the query of a request.
func QueryOf(r *http.Request) *Query { return &Query{values: r.URL.Query()} }

// Err returns the violations so far, or nil.
func (q *Query) Err() error {
	if len(q.wrong) == 0 {
		return nil
	}
	return q.wrong
}

// Has reports whether the parameter was sent.
func (q *Query) Has(name string) bool { return q.values.Has(name) }

// last returns the value that counts.
func (q *Query) last(name string) string {
	if all := q.values[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// String returns a parameter, or def when it was not sent.
func (q *Query) String(name, def string) string {
	if !q.values.Has(name) {
		return def
	}
	return q.last(name)
}

// Required returns a parameter that must be sent.
func (q *Query) Required(name string) string {
	if !q.values.Has(name) {
		q.wrong = append(q.wrong, schema.Missing("query", name)...)
	}
	return q.last(name)
}

// All returns all values of a parameter that may be repeated.
func (q *Query) All(name string) []string { return q.values[name] }

// Int returns a number between lo and hi, both included.
func (q *Query) Int(name string, def, lo, hi int) int {
	if !q.values.Has(name) {
		return def
	}
	n, ok := parseInt(q.last(name))
	switch {
	case !ok:
		q.add("int_parsing", name, "Input should be a valid integer, unable to parse string as an integer", nil)
	case n > hi:
		q.add("less_than_equal", name, fmt.Sprintf("Input should be less than or equal to %d", hi), map[string]any{"le": hi})
	case n < lo:
		q.add("greater_than_equal", name, fmt.Sprintf("Input should be greater than or equal to %d", lo), map[string]any{"ge": lo})
	default:
		return n
	}
	return def
}

// integers are the spellings of whole numbers that the reference takes.
var integers = lazyregexp.New(`^([+-]?[0-9]+(?:_[0-9]+)*)(?:\.0+)?$`)

// parseInt reads a whole number. One that is too large becomes the largest
// there is, so that it is beyond any limit.
func parseInt(s string) (n int, ok bool) {
	m := integers().FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.ReplaceAll(m[1], "_", ""))
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// Bool returns a truth value in any of the spellings of the reference.
func (q *Query) Bool(name string, def bool) bool {
	if !q.values.Has(name) {
		return def
	}
	switch strings.ToLower(q.last(name)) {
	case "1", "true", "t", "yes", "y", "on":
		return true
	case "0", "false", "f", "no", "n", "off":
		return false
	}
	q.add("bool_parsing", name, "Input should be a valid boolean, unable to interpret input", nil)
	return def
}

// Enum returns one of the allowed values.
func (q *Query) Enum(name, def string, allowed ...string) string {
	if !q.values.Has(name) {
		return def
	}
	v := q.last(name)
	if slices.Contains(allowed, v) {
		return v
	}
	want := "'" + strings.Join(allowed, "', '") + "'"
	if i := strings.LastIndex(want, ", "); i >= 0 {
		want = want[:i] + " or " + want[i+2:]
	}
	q.add("enum", name, "Input should be "+want, map[string]any{"expected": want})
	return def
}

// layouts are the forms of a time that the reference takes; those without a
// zone come last.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
}

// stamps are times written as a number; lastSecond is the end of the year 9999.
var stamps = lazyregexp.New(`^[+-]?[0-9]+(\.[0-9]+)?$`)

const lastSecond = 253402300799

// Time returns a time, and whether it was sent. One without a zone is read in
// zone.
func (q *Query) Time(name string, zone *time.Location) (t time.Time, ok bool) {
	if !q.values.Has(name) {
		return t, false
	}
	// A plus of an offset that was not escaped arrives as a space.
	v := q.last(name)
	if i := strings.LastIndexByte(v, ' '); i > len("2006-01-02") {
		v = v[:i] + "+" + v[i+1:]
	}
	if stamps().MatchString(v) { // seconds, or milliseconds
		n, err := strconv.ParseFloat(v, 64)
		if math.Abs(n) > 2e10 {
			n /= 1000
		}
		if err == nil && math.Abs(n) <= lastSecond {
			return time.UnixMicro(int64(n * 1e6)).In(zone), true
		}
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, v, zone); err == nil {
			return t, true
		}
	}
	q.add("datetime_from_date_parsing", name, "Input should be a valid datetime or date", nil)
	return t, false
}

func (q *Query) add(typ, name, msg string, ctx map[string]any) {
	q.wrong = append(q.wrong, schema.Violation{
		Type: typ, Loc: []any{"query", name}, Msg: msg, Input: q.last(name), Ctx: ctx,
	})
}

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
