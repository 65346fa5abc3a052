package schema

import (
	"encoding/json"
	"strings"
)

// Unread is any JSON value that is not parsed: it stays a json.RawMessage, and
// null stays null.
type Unread struct{}

func (Unread) check(_ *reader, v any, _ []any) any { return v }
func (Unread) dump(_ *writer, v any) any           { return v }

// Fits looks at a JSON document that encoding/json decodes next, and returns
// its normal form: nil for one that is absent, null or no JSON, which the
// decoder reports. So that the decoder sees what was checked, a
// duplicate key is a violation, and so is one that differs from a
// field's in its case only: encoding/json would merge the first with the second,
// and take the other for the field. Members that the object does not have are
// not read.
func (o *Object) Fits(raw []byte, loc ...any) (*Map, error) {
	if !json.Valid(raw) {
		return nil, nil
	}
	o = o.full()
	p := parser{raw: raw, once: true}
	var v any
	var err error
	if p.next() == '{' {
		v, err = o.members(&p, loc)
	} else if v, err = p.value(0); err != nil {
		err = Invalid(err.Error(), nil, loc...)
	}
	if err != nil || v == nil {
		return nil, err
	}
	return o.Check(v, Reading{strict: true}, loc...)
}

// members reads an object as far as the fields of this one need it.
func (o *Object) members(p *parser, loc []any) (*Map, error) {
	m := NewMap()
	for p.at++; p.next() != '}'; {
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		if _, twice := m.Lookup(key); twice {
			return nil, Invalid(errTwice(key).Error(), nil, loc...)
		}
		v, err := o.member(p, key)
		if err != nil {
			return nil, Invalid(err.Error(), nil, at(loc, key)...)
		}
		m.Set(key, v)
	}
	p.at++
	return m, nil
}

func (o *Object) member(p *parser, key string) (any, error) {
	f := o.Field(key)
	if f == nil && o.Extra != Keep {
		p.skip()
		return nil, nil
	}
	if f == nil {
		return p.value(1)
	}
	if _, ok := f.Type.(Unread); !ok {
		return p.value(1)
	}
	if raw := p.skip(); string(raw) != "null" {
		return raw, nil
	}
	return nil, nil
}

// checkTag refuses, in strict reading, keys that encoding/json would take for
// the key that tells objects apart.
func (r *reader) checkTag(m *Map, key string, loc []any) {
	if !r.strict {
		return
	}
	for _, k := range m.Keys() {
		if k != key && strings.EqualFold(k, key) {
			r.add("extra_forbidden", "Extra inputs are not permitted", nil, at(loc, k))
		}
	}
}

// hasFold reports whether encoding/json takes a key for a field of the object.
func (o *Object) hasFold(key string) bool {
	for i := range o.Fields {
		if strings.EqualFold(o.Fields[i].Name, key) {
			return true
		}
	}
	return false
}
