package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// From makes the document of a struct (or of a pointer to one), by its json tags
// and in the order of its fields. Strings of types of their own, such as
// llm.Secret, are taken in the clear; empty ones are null. Fields tagged "-" are
// left out. The content of fields is written as by encoding/json.
func From(v any) (*Map, error) {
	s := reflect.Indirect(reflect.ValueOf(v))
	if s.Kind() != reflect.Struct {
		return nil, fmt.Errorf("a %T is no struct", v)
	}
	fields := fieldsOf(s.Type())
	m := sized(len(fields))
	for _, f := range fields {
		e, err := fromValue(s.FieldByIndex(f.index))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		m.Set(f.name, e)
	}
	return m, nil
}

var (
	plainString     = reflect.TypeFor[string]()
	numberType      = reflect.TypeFor[json.Number]()
	mapType         = reflect.TypeFor[*Map]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func fromValue(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		if v.Type() != mapType {
			return fromValue(v.Elem())
		}
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() != plainString {
			return orNull(v.String()), nil
		}
		return v.String(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int:
		return Count(int(v.Int())), nil
	case reflect.Float64:
		return Float(v.Float()), nil
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, err
	}
	return Parse(raw)
}

// Count is a whole number as a value of a document.
func Count(n int) json.Number { return json.Number(fmt.Sprint(n)) }

// Into fills a struct from a checked document as encoding/json does, but null and
// absent members leave a field unchanged, and a key must be a field's name to the
// letter.
func Into(m *Map, out any) error {
	v := reflect.ValueOf(out)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("a %T is no struct to fill", out)
	}
	for _, f := range fieldsOf(v.Elem().Type()) {
		if e := m.Get(f.name); e != nil {
			if err := setValue(v.Elem().FieldByIndex(f.index), e); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	return nil
}

// setValue writes a value of a document to a field. encoding/json does all but the
// few kinds that most fields have.
func setValue(to reflect.Value, v any) error {
	p := reflect.PointerTo(to.Type())
	plain := !p.Implements(unmarshaler) && !p.Implements(textUnmarshaler)
	switch e := v.(type) {
	case *Map:
		if to.Type() == mapType {
			to.Set(reflect.ValueOf(e))
			return nil
		}
	case string:
		switch {
		case plain && to.Kind() == reflect.String && to.Type() != numberType:
			to.SetString(e)
			return nil
		case to.Kind() == reflect.Pointer && to.Type().Elem() == plainString:
			to.Set(reflect.ValueOf(&e))
			return nil
		}
	case bool:
		if plain && to.Kind() == reflect.Bool {
			to.SetBool(e)
			return nil
		}
	}
	raw, err := Encode(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to.Addr().Interface())
}

// field is a field of a struct, or of one inside it without a name, that a
// document has.
type field struct {
	name  string
	index []int
}

var structs sync.Map // reflect.Type → []field

func fieldsOf(t reflect.Type) []field {
	if known, ok := structs.Load(t); ok {
		fields, _ := known.([]field)
		return fields
	}
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "-" && name != "" && f.IsExported() {
			fields = append(fields, field{name, f.Index})
		}
	}
	structs.Store(t, fields)
	return fields
}
