package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

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

// Named is a type with the name that violations have in their location.
type Named struct {
	Name string
	Of   Type
}

// OneOf is the first of some types that fits. If none does, the violations
// of each are reported.
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
// those of [Tagged], locations of violations do not name the kind, and an unknown
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
		return t.Of[t.Default], t.Default
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
	o, name := t.pick(m)
	if o == nil {
		r.wrong = append(r.wrong, Invalid("the kind '"+name+"' is none of "+strings.Join(t.Order, ", "), nil, loc...)...)
		return NewMap()
	}
	if m.Get("kind") == nil {
		m = m.Copy()
		m.Set("kind", name)
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
