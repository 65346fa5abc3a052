package wire

import (
	"reflect"
	"slices"
	"sync"
)

var (
	kinds   sync.Map // reflect.Type of an interface → func(kind string) reflect.Type
	schemas sync.Map // reflect.Type of an Appender → func([]Member) reflect.Type
)

// Kinds tells [Fill] the type of a member of the union T by its kind; nil for
// an unknown one.
func Kinds[T any](of func(kind string) reflect.Type) { kinds.Store(reflect.TypeFor[T](), of) }

// Schema tells [Fill] which struct type describes the members that a T writes.
func Schema[T any](of func(members []Member) reflect.Type) { schemas.Store(reflect.TypeFor[T](), of) }

// Fill writes the checked JSON b of a value of type t, with null for every member
// of a struct that t leaves out when it has no value. A field with the tag
// null:"no" stays absent. Members that t does not know are written unchanged.
func Fill(dst, b []byte, t reflect.Type) ([]byte, error) {
	b = trim(b)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case b[0] == '[' && t.Kind() == reflect.Slice && t != rawType:
		return fillArray(dst, b, t.Elem())
	case b[0] != '{':
		return append(dst, b...), nil
	}
	members, err := Members(b, nil)
	if err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Map {
		return fillObject(dst, members, func(string) reflect.Type { return t.Elem() })
	}
	if t = structOf(t, members); t == nil {
		return append(dst, b...), nil
	}
	return fillStruct(dst, members, layoutOf(t))
}

// structOf returns the struct type of which members are, nil if that is not
// known.
func structOf(t reflect.Type, members []Member) reflect.Type {
	if of, ok := kinds.Load(t); ok {
		t = of.(func(string) reflect.Type)(String(members, "kind"))
	} else if of, ok := schemas.Load(t); ok {
		t = of.(func([]Member) reflect.Type)(members)
	} else if t.Implements(appenderType) {
		return nil
	}
	if t == nil || t.Kind() != reflect.Struct || layoutOf(t).foreign {
		return nil
	}
	return t
}

func fillArray(dst, b []byte, t reflect.Type) ([]byte, error) {
	dst = append(dst, '[')
	first := true
	err := elements(b, func(v []byte) (err error) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst, err = Fill(dst, v, t)
		return err
	})
	return append(dst, ']'), err
}

func fillObject(dst []byte, members []Member, of func(name string) reflect.Type) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, string(m.Name)), ':')
		if t := of(string(m.Name)); t == nil {
			dst = append(dst, m.Value...)
		} else if dst, err = Fill(dst, m.Value, t); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

var nothing = []byte("null")

// fillStruct writes the members in the order of the struct, then those that it
// does not have, "kind" among them.
func fillStruct(dst []byte, members []Member, l *layout) ([]byte, error) {
	all := make([]Member, 0, len(l.fields)+1)
	for i := range l.fields {
		f := &l.fields[i]
		switch at := find(members, f.name); {
		case at >= 0:
			all = append(all, members[at])
		case f.nullable && (f.omitEmpty || f.omitZero):
			all = append(all, Member{[]byte(f.name), nothing})
		}
	}
	for _, m := range members {
		if _, known := l.byName[string(m.Name)]; !known {
			all = append(all, m)
		}
	}
	return fillObject(dst, all, func(name string) reflect.Type {
		if at, known := l.byName[name]; known {
			return l.fields[at].typ
		}
		return nil
	})
}

// find returns the index of the last member of a name, -1 for none.
func find(members []Member, name string) int {
	for i, m := range slices.Backward(members) {
		if string(m.Name) == name {
			return i
		}
	}
	return -1
}
