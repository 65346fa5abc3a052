package schema

import (
	"strings"
)

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

func (Choice) dump(_ *writer, v any) any { return v }

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

func (UUID) dump(_ *writer, v any) any { return v }

// Guarded is a type whose values a function looks at before. Its error is all
// that is said of the value.
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

func (t Guarded) dump(w *writer, v any) any { return t.Of.dump(w, v) }

// Later is a type that is made at its first use. The function returns the same
// type each time.
type Later func() Type

func (t Later) check(r *reader, v any, loc []any) any { return t().check(r, v, loc) }
func (t Later) dump(w *writer, v any) any             { return t().dump(w, v) }

// Named is a type with the name that violations have in their place.
type Named struct {
	Name string
	Of   Type
}

// OneOf is the first of some types that fits. If none does, it is said what is
// wrong with each.
type OneOf []Named

func (t OneOf) check(r *reader, v any, loc []any) any {
	var wrong Violations
	for _, one := range t {
		try := &reader{Reading: r.Reading}
		out := one.Of.check(try, v, at(loc, one.Name))
		if len(try.wrong) == 0 {
			r.sealed = r.sealed || try.sealed
			return out
		}
		wrong = append(wrong, try.wrong...)
	}
	r.wrong = append(r.wrong, wrong...)
	return nil
}

func (OneOf) dump(_ *writer, v any) any { return v }

// Kinds is one of several objects that are told apart by their "kind". Unlike
// those of [Tagged], places of violations do not name the kind, and an unknown
// one is a violation of the whole object (docs/openhands/sdk-wire.md section
// 2).
type Kinds struct {
	Default string // for objects without a kind; "" refuses them
	Mark    string // the field that such objects must have; "" for none
	Of      map[string]*Object
	Order   []string // of the names, for messages
}

func (t Kinds) pick(m *Map) (*Object, string) {
	kind := m.Get("kind")
	if kind == nil {
		if _, ok := m.Lookup(t.Mark); !ok && t.Mark != "" {
			return nil, ""
		}
		return t.Of[t.Default], ""
	}
	name, _ := kind.(string)
	return t.Of[name], name
}

func (t Kinds) check(r *reader, v any, loc []any) any {
	m, ok := v.(*Map)
	if !ok {
		r.add("model_attributes_type", notObject, v, loc)
		return NewMap()
	}
	r.lone(m, "kind", loc)
	o, name := t.pick(m)
	if o == nil {
		r.wrong = append(r.wrong, Invalid("the kind '"+name+"' is none of "+strings.Join(t.Order, ", "), nil, loc...)...)
		return NewMap()
	}
	if _, ok := m.Lookup("kind"); ok && m.Get("kind") == nil {
		m = m.Copy()
		m.Delete("kind")
	}
	return o.check(r, m, loc)
}

func (t Kinds) dump(w *writer, v any) any {
	m, ok := v.(*Map)
	if !ok {
		return v
	}
	if o, _ := t.pick(m); o != nil {
		return o.dump(w, m)
	}
	return v
}

const notObject = "Input should be a valid dictionary or object to extract fields from"
