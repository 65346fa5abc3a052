// Package rawjson encodes structs as encoding/json does, without escaping for HTML, and
// copies their fields of the type json.RawMessage. encoding/json would parse them again,
// which costs most where a document of tens of kilobytes consists of such parts.
//
// # Usage
//
//	raw, err := rawjson.Encode(document)
//
// Raw fields must hold valid JSON: it is not checked. Tags may have the options omitempty
// and omitzero only.
//
// # Concurrency
//
// Everything may be called from any goroutine.
//
// # Failure
//
// Encode fails for values that encoding/json cannot encode.
package rawjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// member is how a field of a document is written.
type member struct {
	index     []int
	name      string // quoted, with the colon
	omitEmpty bool
	omitZero  bool
}

var (
	layouts sync.Map // of []member, by reflect.Type
	rawType = reflect.TypeFor[json.RawMessage]()
	scratch = sync.Pool{New: func() any { return new([]byte) }}
)

// scratchMost is the capacity in bytes above which a buffer is not kept.
const scratchMost = 1 << 20

// Encode returns the JSON of a struct. Structs in it are encoded in the same way if they
// are of the same package.
func Encode(v any) (json.RawMessage, error) {
	buf := scratch.Get().(*[]byte)
	value := reflect.ValueOf(v)
	b, err := appendStruct((*buf)[:0], value, value.Type().PkgPath())
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(b)
	if cap(b) <= scratchMost {
		*buf = b
		scratch.Put(buf)
	}
	return out, nil
}

func appendStruct(b []byte, v reflect.Value, own string) ([]byte, error) {
	b = append(b, '{')
	first := true
	for _, m := range layout(v.Type()) {
		f := v.FieldByIndex(m.index)
		if m.omitEmpty && empty(f) || m.omitZero && f.IsZero() {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		var err error
		if b, err = appendValue(append(b, m.name...), f, own); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendValue appends the value of a field.
func appendValue(b []byte, f reflect.Value, own string) ([]byte, error) {
	switch {
	case f.Type() == rawType:
		if f.Len() == 0 {
			return append(b, "null"...), nil
		}
		return append(b, f.Bytes()...), nil
	case f.Kind() == reflect.Bool:
		return strconv.AppendBool(b, f.Bool()), nil
	case f.CanInt() && f.Kind() != reflect.Pointer:
		return strconv.AppendInt(b, f.Int(), 10), nil
	case f.Kind() == reflect.String && plain(f.String()):
		return append(append(append(b, '"'), f.String()...), '"'), nil
	case f.Kind() == reflect.Struct && f.Type().PkgPath() == own:
		return appendStruct(b, f, own)
	}
	raw, err := Marshal(f.Interface())
	return append(b, raw...), err
}

// plain reports whether a string stands for itself between quotes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func empty(f reflect.Value) bool {
	switch f.Kind() {
	case reflect.Map, reflect.Slice, reflect.String:
		return f.Len() == 0
	}
	return f.IsZero()
}

// layout returns how a struct is written.
func layout(t reflect.Type) []member {
	if known, ok := layouts.Load(t); ok {
		return known.([]member)
	}
	l := members(t, nil)
	layouts.Store(t, l)
	return l
}

// members are the fields of a struct, with those of embedded structs in their
// place.
func members(t reflect.Type, at []int) (l []member) {
	for i := range t.NumField() {
		f, index := t.Field(i), append(at[:len(at):len(at)], i)
		if f.Anonymous {
			l = append(l, members(f.Type, index)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		l = append(l, member{
			index: index, name: strconv.Quote(name) + ":",
			omitEmpty: strings.Contains(options, "omitempty"), omitZero: strings.Contains(options, "omitzero"),
		})
	}
	return l
}

// Marshal is json.Marshal without escaping for HTML.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Or returns raw, or another document if raw is empty.
func Or(raw, other json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return other
	}
	return raw
}

// NoNull returns raw, or nil if it is null.
func NoNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
