package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// From makes the document of a struct (or of a pointer to one), by its json
// tags and in the order of its fields. Strings of types of their own, such as
// llm.Secret, are taken in the clear; empty ones are null. Fields tagged "-"
// are left out.
func From(v any) (*Map, error) {
	out, err := fromValue(reflect.ValueOf(v))
	if err != nil {
		return nil, err
	}
	m, ok := out.(*Map)
	if !ok {
		return nil, fmt.Errorf("a %T is no document", v)
	}
	return m, nil
}

var plainString = reflect.TypeFor[string]()

func fromValue(v reflect.Value) (any, error) {
	if v.IsValid() && v.CanInterface() {
		switch x := v.Interface().(type) {
		case *Map:
			if x == nil {
				return nil, nil
			}
			return x, nil
		case json.RawMessage:
			if x == nil {
				return nil, nil
			}
			return Parse(x)
		}
	}
	switch v.Kind() {
	case reflect.Invalid:
		return nil, nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		return fromValue(v.Elem())
	case reflect.String:
		if v.Type() != plainString && v.String() == "" {
			return nil, nil
		}
		return v.String(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int:
		return json.Number(fmt.Sprint(v.Int())), nil
	case reflect.Float64:
		return Float(v.Float()), nil
	case reflect.Slice:
		return fromSlice(v)
	case reflect.Struct:
		return fromStruct(v)
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, err
	}
	return Parse(raw)
}

func fromSlice(v reflect.Value) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	list := make([]any, v.Len())
	for i := range list {
		e, err := fromValue(v.Index(i))
		if err != nil {
			return nil, err
		}
		list[i] = e
	}
	return list, nil
}

func fromStruct(v reflect.Value) (any, error) {
	fields := fieldsOf(v.Type())
	m := sized(len(fields))
	for _, f := range fields {
		e, err := fromValue(v.Field(f.index))
		if err != nil {
			return nil, err
		}
		m.Set(f.name, e)
	}
	return m, nil
}

// Count is a whole number as a value of a document.
func Count(n int) json.Number { return json.Number(fmt.Sprint(n)) }
