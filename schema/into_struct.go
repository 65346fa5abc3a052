package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// field is a field of a struct that a document has.
type field struct {
	name  string
	index int
}

var structs sync.Map // reflect.Type → []field

func fieldsOf(t reflect.Type) []field {
	if known, ok := structs.Load(t); ok {
		fields, _ := known.([]field)
		return fields
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "-" && name != "" && f.IsExported() {
			fields = append(fields, field{name, i})
		}
	}
	structs.Store(t, fields)
	return fields
}

// Into fills a struct from a document, by its json tags. Null and what the
// document does not have leave a field as it is.
func Into(m *Map, out any) error {
	v := reflect.ValueOf(out)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("a %T is no struct to fill", out)
	}
	return fillStruct(v.Elem(), m)
}

func fillStruct(v reflect.Value, m *Map) error {
	for _, f := range fieldsOf(v.Type()) {
		if e := m.Get(f.name); e != nil {
			if err := fill(v.Field(f.index), e); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	return nil
}

var (
	mapType = reflect.TypeFor[*Map]()
	rawType = reflect.TypeFor[json.RawMessage]()
)

// fill sets v to a value of a document that is not null.
func fill(v reflect.Value, e any) error {
	switch v.Type() {
	case mapType:
		m, ok := e.(*Map)
		if !ok {
			return misfit(v, e)
		}
		v.Set(reflect.ValueOf(m))
		return nil
	case rawType:
		raw, err := Encode(e)
		v.SetBytes(raw)
		return err
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), e)
	case reflect.Interface:
		return fillAny(v, e)
	case reflect.Struct:
		if m, ok := e.(*Map); ok {
			return fillStruct(v, m)
		}
	case reflect.Slice:
		return fillSlice(v, e)
	case reflect.Map:
		return fillMap(v, e)
	case reflect.String:
		if s, ok := e.(string); ok {
			v.SetString(s)
			return nil
		}
	case reflect.Bool:
		if b, ok := e.(bool); ok {
			v.SetBool(b)
			return nil
		}
	case reflect.Int, reflect.Float64:
		return fillNumber(v, e)
	}
	return misfit(v, e)
}

func misfit(v reflect.Value, e any) error { return fmt.Errorf("a %T does not fit a %s", e, v.Type()) }

func fillNumber(v reflect.Value, e any) error {
	var n json.Number
	switch e := e.(type) {
	case json.Number:
		n = e
	case int:
		n = Count(e)
	default:
		return misfit(v, e)
	}
	if v.Kind() == reflect.Float64 {
		f, err := n.Float64()
		v.SetFloat(f)
		return err
	}
	i, err := n.Int64()
	v.SetInt(i)
	return err
}

func fillSlice(v reflect.Value, e any) error {
	list, ok := e.([]any)
	if !ok {
		return misfit(v, e)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	for i, one := range list {
		if one == nil {
			continue
		}
		if err := fill(v.Index(i), one); err != nil {
			return err
		}
	}
	return nil
}

func fillMap(v reflect.Value, e any) error {
	m, ok := e.(*Map)
	if !ok || v.Type().Key().Kind() != reflect.String {
		return misfit(v, e)
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), m.Len()))
	for _, k := range m.Keys() {
		one := reflect.New(v.Type().Elem()).Elem()
		if x := m.Get(k); x != nil {
			if err := fill(one, x); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
		v.SetMapIndex(reflect.ValueOf(k).Convert(v.Type().Key()), one)
	}
	return nil
}

// fillAny sets an interface as encoding/json would.
func fillAny(v reflect.Value, e any) error {
	var out any
	switch e.(type) {
	case string, bool:
		out = e
	default:
		raw, err := Encode(e)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			return err
		}
	}
	v.Set(reflect.ValueOf(out))
	return nil
}
