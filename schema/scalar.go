package schema

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Type is the type of a value.
type Type interface {
	// check returns the value in its normal form; violations are recorded.
	check(r *reader, v any, loc []any) any
}

// dumper is a type whose values do not leave the process as they are: there are
// secrets in them, or fields that are not written.
type dumper interface{ dump(w *writer, v any) any }

func (w *writer) dump(t Type, v any) any {
	if d, ok := t.(dumper); ok {
		return d.dump(w, v)
	}
	return v
}

// String is a text. Lengths count characters; zero bounds nothing. Valid makes
// further checks of a text; nil for none.
type String struct {
	Min, Max int
	Pattern  *regexp.Regexp
	Valid    func(string) error
}

func (t String) check(r *reader, v any, loc []any) any {
	s, ok := v.(string)
	if !ok {
		r.add("string_type", "Input should be a valid string", v, loc)
		return ""
	}
	n := utf8.RuneCountInString(s)
	switch {
	case n < t.Min:
		r.addCtx("string_too_short", "String should have at least "+plural(t.Min, "character"), v, loc, map[string]any{"min_length": t.Min})
	case t.Max > 0 && n > t.Max:
		r.addCtx("string_too_long", "String should have at most "+plural(t.Max, "character"), v, loc, map[string]any{"max_length": t.Max})
	case t.Pattern != nil && !t.Pattern.MatchString(s):
		p := t.Pattern.String()
		r.addCtx("string_pattern_mismatch", "String should match pattern '"+p+"'", v, loc, map[string]any{"pattern": p})
	case t.Valid != nil:
		if err := t.Valid(s); err != nil {
			r.wrong = append(r.wrong, Invalid(err.Error(), nil, loc...)...)
		}
	}
	return s
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Bool is a truth value; the spellings of the reference are taken too.
type Bool struct{}

func (Bool) check(r *reader, v any, loc []any) any {
	switch v := v.(type) {
	case bool:
		return v
	case json.Number:
		f, err := v.Float64()
		switch {
		case err == nil && (f == 0 || f == 1):
			return f == 1
		case f != math.Trunc(f):
			r.add("bool_type", "Input should be a valid boolean", v, loc)
			return false
		}
	case string:
		switch strings.ToLower(v) {
		case "1", "true", "t", "yes", "y", "on":
			return true
		case "0", "false", "f", "no", "n", "off":
			return false
		}
	default:
		r.add("bool_type", "Input should be a valid boolean", v, loc)
		return false
	}
	r.add("bool_parsing", "Input should be a valid boolean, unable to interpret input", v, loc)
	return false
}

// Bounds limit a number; nil limits nothing.
type Bounds struct {
	GE, GT, LE, LT *float64
}

func (b Bounds) check(r *reader, f float64, v any, loc []any) {
	for _, c := range []struct {
		limit *float64
		ok    bool
		typ   string
		words string
		key   string
	}{
		{b.GE, b.GE == nil || f >= *b.GE, "greater_than_equal", "greater than or equal to", "ge"},
		{b.GT, b.GT == nil || f > *b.GT, "greater_than", "greater than", "gt"},
		{b.LE, b.LE == nil || f <= *b.LE, "less_than_equal", "less than or equal to", "le"},
		{b.LT, b.LT == nil || f < *b.LT, "less_than", "less than", "lt"},
	} {
		if !c.ok {
			limit := strconv.FormatFloat(*c.limit, 'f', -1, 64)
			r.addCtx(c.typ, "Input should be "+c.words+" "+limit, v, loc, map[string]any{c.key: *c.limit})
			return
		}
	}
}

// Int is a whole number.
type Int struct{ Bounds }

func (t Int) check(r *reader, v any, loc []any) any {
	f, text, ok := number(v)
	switch {
	case !ok && text:
		r.add("int_parsing", "Input should be a valid integer, unable to parse string as an integer", v, loc)
		return json.Number("0")
	case !ok:
		r.add("int_type", "Input should be a valid integer", v, loc)
		return json.Number("0")
	case f != math.Trunc(f) || math.Abs(f) > 1<<53:
		r.add("int_from_float", "Input should be a valid integer, got a number with a fractional part", v, loc)
		return json.Number("0")
	}
	t.Bounds.check(r, f, v, loc)
	return json.Number(strconv.FormatInt(int64(f), 10))
}

// Number is a number with a fraction.
type Number struct{ Bounds }

func (t Number) check(r *reader, v any, loc []any) any {
	f, text, ok := number(v)
	switch {
	case !ok && text:
		r.add("float_parsing", "Input should be a valid number, unable to parse string as a number", v, loc)
	case !ok:
		r.add("float_type", "Input should be a valid number", v, loc)
	default:
		t.Bounds.check(r, f, v, loc)
		return Float(f)
	}
	return json.Number("0.0")
}

// number reads everything that the reference takes for a number: text and truth
// values as well.
func number(v any) (f float64, text, ok bool) {
	var err error
	switch v := v.(type) {
	case json.Number:
		f, err = v.Float64()
	case int:
		f = float64(v)
	case float64:
		f = v
	case bool:
		if v {
			f = 1
		}
	case string:
		f, err = strconv.ParseFloat(strings.TrimSpace(v), 64)
		text = true
	default:
		return 0, false, false
	}
	return f, text, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// Enum is one of some texts.
type Enum []string

func (t Enum) check(r *reader, v any, loc []any) any {
	if s, ok := v.(string); ok && slices.Contains(t, s) {
		return s
	}
	want := "'" + strings.Join(t, "', '") + "'"
	if i := strings.LastIndex(want, ", "); i >= 0 {
		want = want[:i] + " or " + want[i+2:]
	}
	r.addCtx("literal_error", "Input should be "+want, v, loc, map[string]any{"expected": want})
	r.wrong[len(r.wrong)-1].Choices = t
	return t[0]
}

// Any is any JSON value.
type Any struct{}

func (Any) check(_ *reader, v any, _ []any) any { return v }

// Choice is [Enum] where the reference declares an enumeration: only the
// violation's type differs.
type Choice []string

func (t Choice) check(r *reader, v any, loc []any) any {
	before := len(r.wrong)
	out := Enum(t).check(r, v, loc)
	if len(r.wrong) > before {
		r.wrong[before].Type = "enum"
	}
	return out
}

// UUID is an id in any form that [ParseUUID] takes, and normally 32
// hexadecimal digits.
type UUID struct{}

func (UUID) check(r *reader, v any, loc []any) any {
	s, ok := v.(string)
	if !ok {
		r.add("uuid_type", "UUID input should be a string, bytes or UUID object", v, loc)
		return ""
	}
	hex, wrong := ParseUUID(s, loc...)
	r.wrong = append(r.wrong, wrong...)
	return hex
}

// Guarded is a type whose values a function checks first. If it fails, its error
// is all that is reported of the value.
type Guarded struct {
	First func(v any) error
	Of    Type
}

func (t Guarded) check(r *reader, v any, loc []any) any {
	if err := t.First(v); err != nil {
		r.refuse(err, loc)
		return nil
	}
	return t.Of.check(r, v, loc)
}

func (t Guarded) dump(w *writer, v any) any { return w.dump(t.Of, v) }
