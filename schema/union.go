package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Tagged is one of several objects, told apart by a field. Where that is "kind",
// the rules of the reference's own classes apply: locations of violations do not
// name the kind, an unknown one is a violation of the whole object, and null
// stands for the default (docs/openhands/sdk-wire.md section 2).
type Tagged struct {
	Key     string
	Default string // for objects without the field; "" refuses them
	Mark    string // the field that such objects must have; "" for none
	Of      map[string]*Object
	Order   []string // of the names, for messages
}

const kindKey = "kind"

// pick returns the object for a document, nil for none, and the name of it, or the
// document's text in place of a name.
func (t Tagged) pick(m *Map) (*Object, string) {
	tag, ok := m.Lookup(t.Key)
	if !ok || tag == nil && t.Key == kindKey {
		if _, marked := m.Lookup(t.Mark); t.Mark != "" && !marked {
			return nil, ""
		}
		return t.Of[t.Default], t.Default
	}
	switch tag := tag.(type) {
	case string:
		return t.Of[tag], tag
	case nil, bool, json.Number:
		return nil, fmt.Sprint(tag)
	}
	return nil, "object" // it could hold anything
}

func (t Tagged) check(r *reader, v any, loc []any) any {
	m, ok := v.(*Map)
	if !ok {
		r.add("model_attributes_type", notObject, v, loc)
		return NewMap()
	}
	o, name := t.pick(m)
	_, tagged := m.Lookup(t.Key)
	switch {
	case o != nil && t.Key == kindKey:
		if m.Get(kindKey) == nil {
			m = m.Copy()
			m.Set(kindKey, name)
		}
		return o.check(r, m, loc)
	case o != nil:
		return o.check(r, m, at(loc, name))
	case t.Key == kindKey:
		r.refuse(fmt.Errorf("the kind '%s' is none of %s", m.Text(kindKey), strings.Join(t.Order, ", ")), loc)
	default:
		wrong := Violation{
			Type: "union_tag_not_found", Loc: loc, Input: v, Choices: t.Order,
			Msg: "Unable to extract tag using discriminator '" + t.Key + "'", Ctx: map[string]any{"discriminator": "'" + t.Key + "'"},
		}
		if tagged {
			wrong.Type, wrong.Ctx["tag"] = "union_tag_invalid", name
			wrong.Msg = fmt.Sprintf("Input tag '%s' found using '%s' does not match any of the expected tags: '%s'", name, t.Key, strings.Join(t.Order, "', '"))
		}
		r.wrong = append(r.wrong, wrong)
	}
	return NewMap()
}

func (t Tagged) dump(w *writer, v any) any {
	if m, ok := v.(*Map); ok {
		if o, _ := t.pick(m); o != nil {
			return o.dump(w, m)
		}
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

const notObject = "Input should be a valid dictionary or object to extract fields from"
