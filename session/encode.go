package session

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Documents of a conversation are mostly parts that are JSON already, up to
// tens of kilobytes, and made at every turn. encoding/json would read each of
// these parts again in each document that holds it; here they are trusted,
// since they were read when they came in.

// member is how a field of a document is written.
type member struct {
	index     []int
	name      string // quoted, with the colon
	omitEmpty bool
	omitZero  bool
}

var (
	layouts sync.Map // of []member, by reflect.Type
	ownPath = reflect.TypeFor[Info]().PkgPath()
	rawType = reflect.TypeFor[json.RawMessage]()
	scratch = sync.Pool{New: func() any { return new([]byte) }}
)

// scratchMost is the capacity in bytes above which a buffer is not kept.
const scratchMost = 1 << 20

// encodeDocument returns the JSON of a struct as encoding/json does without
// escaping for HTML, except that it copies fields that are a json.RawMessage.
func encodeDocument(v any) (json.RawMessage, error) {
	buf := scratch.Get().(*[]byte)
	b, err := appendDocument((*buf)[:0], reflect.ValueOf(v))
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

func appendDocument(b []byte, v reflect.Value) ([]byte, error) {
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
		if b, err = appendValue(append(b, m.name...), f); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendValue appends what a field holds.
func appendValue(b []byte, f reflect.Value) ([]byte, error) {
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
	case f.Kind() == reflect.Struct && f.Type().PkgPath() == ownPath:
		return appendDocument(b, f)
	}
	raw, err := marshal(f.Interface())
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

// marshal is json.Marshal without escaping for HTML.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
