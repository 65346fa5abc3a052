package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Type is what a value may be.
type Type interface {
	// check returns the value in its normal form; what is wrong is noted.
	check(r *reader, v any, loc []any) any
	// dump returns the value as it leaves the process.
	dump(w *writer, v any) any
}

// String is a text. Lengths count characters; zero bounds nothing. Valid says
// what else is wrong with a text; nil for nothing.
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

func (String) dump(_ *writer, v any) any { return v }

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

func (Bool) dump(_ *writer, v any) any { return v }

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

func (Int) dump(_ *writer, v any) any { return v }

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

func (Number) dump(_ *writer, v any) any { return v }

// number reads what the reference takes for a number: text and truth values
// as well.
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
	return t[0]
}

func (Enum) dump(_ *writer, v any) any { return v }

// Any is any JSON value.
type Any struct{}

func (Any) check(_ *reader, v any, _ []any) any { return v }
func (Any) dump(_ *writer, v any) any           { return v }

// Either is the first of some types that fits.
type Either []Type

func (t Either) check(r *reader, v any, loc []any) any {
	var first *reader
	for _, one := range t {
		try := &reader{Reading: r.Reading}
		out := one.check(try, v, loc)
		if len(try.wrong) == 0 {
			r.sealed = r.sealed || try.sealed
			return out
		}
		if first == nil {
			first = try
		}
	}
	r.wrong = append(r.wrong, first.wrong...)
	return nil
}

func (Either) dump(_ *writer, v any) any { return v }

// List is a list of one type.
type List struct{ Of Type }

func (t List) check(r *reader, v any, loc []any) any {
	list, ok := v.([]any)
	if !ok {
		r.add("list_type", "Input should be a valid list", v, loc)
		return []any{}
	}
	out := make([]any, len(list))
	for i, e := range list {
		if len(r.wrong) >= MostViolations {
			break
		}
		out[i] = t.Of.check(r, e, at(loc, i))
	}
	return out
}

func (t List) dump(w *writer, v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = t.Of.dump(w, e)
	}
	return out
}

// Dict is an object with keys of the user's own and values of one type.
type Dict struct{ Of Type }

func (t Dict) check(r *reader, v any, loc []any) any {
	return r.dict(v, loc, func(_ string, v any, loc []any) (any, bool) { return t.Of.check(r, v, loc), true })
}

func (t Dict) dump(w *writer, v any) any {
	return dumpDict(v, func(_ string, v any) (any, bool) { return t.Of.dump(w, v), true })
}

// dict checks what must be an object, and keeps what one says of its values.
func (r *reader) dict(v any, loc []any, one func(key string, v any, loc []any) (checked any, keep bool)) any {
	m, ok := v.(*Map)
	if !ok {
		r.add("dict_type", "Input should be a valid dictionary", v, loc)
		return NewMap()
	}
	out := NewMap()
	for _, k := range m.Keys() {
		if len(r.wrong) >= MostViolations {
			break
		}
		if checked, keep := one(k, m.Get(k), at(loc, k)); keep {
			out.Set(k, checked)
		}
	}
	return out
}

// dumpDict writes an object with what one makes of its values; anything else
// stays as it is.
func dumpDict(v any, one func(key string, v any) (written any, keep bool)) any {
	m, ok := v.(*Map)
	if !ok {
		return v
	}
	out := NewMap()
	for _, k := range m.Keys() {
		if written, keep := one(k, m.Get(k)); keep {
			out.Set(k, written)
		}
	}
	return out
}

type optional struct{ of Type }

// Opt is a type or null.
func Opt(t Type) Type { return optional{t} }

func (t optional) check(r *reader, v any, loc []any) any {
	if v == nil {
		return nil
	}
	return t.of.check(r, v, loc)
}

func (t optional) dump(w *writer, v any) any {
	if v == nil {
		return nil
	}
	return t.of.dump(w, v)
}

// Tagged is one of several objects, told apart by a field.
type Tagged struct {
	Key     string
	Default string // for objects without the field; "" refuses them
	Of      map[string]*Object
	Order   []string // of the names, for messages
}

func (t Tagged) pick(m *Map) (*Object, string) {
	tag, ok := m.Lookup(t.Key)
	name, _ := tag.(string)
	if !ok {
		name = t.Default
	}
	return t.Of[name], name
}

func (t Tagged) check(r *reader, v any, loc []any) any {
	m, ok := v.(*Map)
	if !ok {
		r.add("model_attributes_type", notObject, v, loc)
		return NewMap()
	}
	r.lone(m, t.Key, loc)
	o, name := t.pick(m)
	tag, tagged := m.Lookup(t.Key)
	switch tag.(type) {
	case string:
	case nil, bool, json.Number:
		if tagged {
			name = fmt.Sprint(tag)
		}
	default: // it could hold anything
		name = "object"
	}
	switch {
	case o != nil:
		return o.check(r, m, at(loc, name))
	case !tagged:
		r.addCtx("union_tag_not_found", fmt.Sprintf("Unable to extract tag using discriminator '%s'", t.Key), v, loc, map[string]any{"discriminator": "'" + t.Key + "'"})
	default:
		r.addCtx("union_tag_invalid", fmt.Sprintf("Input tag '%s' found using '%s' does not match any of the expected tags: '%s'",
			name, t.Key, strings.Join(t.Order, "', '")), v, loc, map[string]any{"discriminator": "'" + t.Key + "'", "tag": name})
	}
	return NewMap()
}

func (t Tagged) dump(w *writer, v any) any {
	m, ok := v.(*Map)
	if !ok {
		return v
	}
	if o, _ := t.pick(m); o != nil {
		return o.dump(w, m)
	}
	return v
}

func at(loc []any, part any) []any { return append(loc[:len(loc):len(loc)], part) }
