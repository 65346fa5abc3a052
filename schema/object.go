package schema

import (
	"errors"
)

// Extra is the treatment of fields that an object does not have.
type Extra int

// The choices.
const (
	Drop Extra = iota
	Keep
	Forbid
)

// Object is a JSON object of known fields.
type Object struct {
	Name   string
	Fields []Field
	Extra  Extra
	// Lazy returns the object itself at its first use, with its Fields; nil for
	// an object that has them.
	Lazy func() *Object
	// Compact objects, and those inside them, are written without nulls and
	// empty objects.
	Compact bool
	// Before changes a document before it is checked. It works on a copy. Its
	// error is a violation of the whole object.
	Before func(m *Map) error
	// After looks at a document that fits.
	After func(m *Map) error
}

// Field is a field of an object.
type Field struct {
	Name string
	Type Type
	// Default is the value of an absent field, in its normal form; a func() any
	// makes it each time, a *Object makes it of its own defaults.
	Default any
	// Required fields have no default.
	Required bool
	// Hidden fields are read and not written; those that may be absent are
	// neither given a default nor written as null.
	Hidden, MayBeAbsent bool
	// Page says how a settings page shows the field; nil for not at all.
	Page *Page
}

type reader struct {
	Reading
	wrong  Violations
	sealed bool
}

type writer struct {
	Writing
	compact bool
	err     error
}

func (r *reader) add(typ, msg string, input any, loc []any) { r.addCtx(typ, msg, input, loc, nil) }

func (r *reader) addCtx(typ, msg string, input any, loc []any, ctx map[string]any) {
	r.wrong = append(r.wrong, Violation{Type: typ, Loc: loc, Msg: msg, Input: input, Ctx: ctx})
}

// refuse records the error of a function about a value: as its text, or as
// violations that lack only their location.
func (r *reader) refuse(err error, loc []any) {
	own, ok := errors.AsType[Violations](err)
	if !ok {
		own = Invalid(err.Error(), nil, loc...)
	}
	for _, one := range own {
		one.Loc = loc
		r.wrong = append(r.wrong, one)
	}
}

// Check returns the document in its normal form: every field, in order, secrets
// in the clear. loc is the document's location in a request. Errors are
// Violations or [ErrSealed].
func (o *Object) Check(v any, how Reading, loc ...any) (*Map, error) {
	out, err := Check(o, v, how, loc...)
	m, _ := out.(*Map)
	return m, err
}

// Check is [Object.Check] for any type.
func Check(t Type, v any, how Reading, loc ...any) (any, error) {
	r := &reader{Reading: how}
	out := t.check(r, v, loc)
	switch {
	case len(r.wrong) > 0:
		return nil, r.wrong
	case r.sealed && how.Strict:
		return nil, ErrSealed
	}
	return out, nil
}

// Dump returns a checked document as it may leave the process. The error comes
// from sealing, [ErrNoKey] without keys.
func Dump(t Type, v any, how Writing) (any, error) {
	w := &writer{Writing: how}
	out := w.dump(t, v)
	return out, w.err
}

// Dump is the function Dump for an object.
func (o *Object) Dump(m *Map, how Writing) (*Map, error) {
	out, err := Dump(o, m, how)
	d, _ := out.(*Map)
	return d, err
}

// Defaults returns the document with the default of every field, for objects
// that have no required fields.
func (o *Object) Defaults() *Map {
	o = o.full()
	m := sized(len(o.Fields))
	for _, f := range o.Fields {
		if !f.Hidden && !f.MayBeAbsent {
			m.Set(f.Name, f.value())
		}
	}
	return m
}

// full returns the object with its fields.
func (o *Object) full() *Object {
	if o.Lazy != nil {
		return o.Lazy()
	}
	return o
}

// All returns the fields of the object. Callers must not change them.
func (o *Object) All() []Field { return o.full().Fields }

func (f Field) value() any {
	switch d := f.Default.(type) {
	case func() any:
		return d()
	case *Object:
		return d.Defaults()
	case *Map:
		return d.Copy()
	case []any:
		return append([]any{}, d...)
	}
	return f.Default
}

func (o *Object) check(r *reader, v any, loc []any) any {
	o = o.full()
	m, ok := v.(*Map)
	if !ok {
		r.add("model_attributes_type", notObject, v, loc)
		return NewMap()
	}
	if o.Before != nil {
		m = m.Copy()
		if err := o.Before(m); err != nil {
			r.refuse(err, loc)
			return NewMap()
		}
	}
	before := len(r.wrong)
	out := sized(len(o.Fields))
	for _, f := range o.Fields {
		switch got, ok := m.Lookup(f.Name); {
		case ok:
			out.Set(f.Name, f.Type.check(r, got, at(loc, f.Name)))
		case f.MayBeAbsent:
		case f.Required:
			r.wrong = append(r.wrong, Missing(at(loc, f.Name)...)...)
		default:
			out.Set(f.Name, f.value())
		}
	}
	o.extra(r, m, out, loc)
	if o.After != nil && len(r.wrong) == before {
		if err := o.After(out); err != nil {
			r.refuse(err, loc)
		}
	}
	return out
}

func (o *Object) extra(r *reader, m, out *Map, loc []any) {
	if o.Extra == Drop {
		return
	}
	for _, k := range m.Keys() {
		switch {
		case len(r.wrong) >= MostViolations:
			return
		case o.Field(k) != nil:
			continue
		case o.Extra == Keep:
			out.Set(k, m.Get(k))
			continue
		}
		r.add("extra_forbidden", "Extra inputs are not permitted", nil, at(loc, k))
	}
}

// Field returns the field of a name, nil if there is none. Callers must not
// change it.
func (o *Object) Field(name string) *Field {
	o = o.full()
	for i := range o.Fields {
		if o.Fields[i].Name == name {
			return &o.Fields[i]
		}
	}
	return nil
}

func (o *Object) dump(w *writer, v any) any {
	m, ok := v.(*Map)
	if !ok {
		return v
	}
	o = o.full()
	outer := w.compact
	w.compact = outer || o.Compact
	defer func() { w.compact = outer }()
	out := sized(m.Len())
	set := func(k string, v any) {
		if w.compact {
			if inner, ok := v.(*Map); v == nil || ok && inner.Len() == 0 {
				return
			}
		}
		out.Set(k, v)
	}
	for _, f := range o.Fields {
		if v, ok := m.Lookup(f.Name); ok && !f.Hidden && (v != nil || !f.MayBeAbsent) {
			set(f.Name, w.dump(f.Type, v))
		}
	}
	if o.Extra == Keep {
		for _, k := range m.Keys() {
			if o.Field(k) == nil {
				set(k, m.Get(k))
			}
		}
	}
	return out
}
