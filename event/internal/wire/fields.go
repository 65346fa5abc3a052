package wire

import (
	"cmp"
	"reflect"
	"strings"
	"sync"
)

// field is one JSON member of a struct type.
type field struct {
	name      string
	prefix    string // `"name":`
	index     []int
	typ       reflect.Type
	omitEmpty bool
	omitZero  bool
	nullable  bool // may be written as null where it is left out
	depth     int
}

// layout describes a struct type. A foreign one uses features that are left to
// encoding/json.
type layout struct {
	fields  []field
	byName  map[string]int
	foreign bool
}

var layouts sync.Map // reflect.Type → *layout

func layoutOf(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{byName: make(map[string]int)}
	l.collect(t, nil)
	kept, _ := layouts.LoadOrStore(t, l)
	return kept.(*layout)
}

func (l *layout) collect(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		path := append(append([]int(nil), index...), i)
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			l.collect(f.Type, path)
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Pointer:
			l.foreign = true
		case !f.IsExported():
		default:
			l.add(f, name, options, path)
		}
	}
}

func (l *layout) add(f reflect.StructField, name, options string, path []int) {
	name = cmp.Or(name, f.Name)
	made := field{name: name, prefix: string(appendString(nil, name)) + ":", index: path, typ: f.Type, depth: len(path)}
	made.nullable = f.Tag.Get("null") != "no"
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			made.omitEmpty = true
		case "omitzero":
			made.omitZero = true
		case "string":
			l.foreign = true
		}
	}
	if at, taken := l.byName[name]; taken {
		if l.fields[at].depth == made.depth {
			l.foreign = true // ambiguous: encoding/json knows the rule
		} else if l.fields[at].depth > made.depth {
			l.fields[at] = made
		}
		return
	}
	l.byName[name] = len(l.fields)
	l.fields = append(l.fields, made)
}

// omitted reports whether the field is left out for the value v.
func (f *field) omitted(v reflect.Value) bool {
	if f.omitZero && isZero(v) {
		return true
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

func isZero(v reflect.Value) bool {
	if z, ok := reflect.TypeAssert[interface{ IsZero() bool }](v); ok {
		return z.IsZero()
	}
	return v.IsZero()
}
