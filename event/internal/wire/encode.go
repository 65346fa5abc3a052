package wire

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/deft-dev/deft/internal/rawjson"
)

type encoder func(dst []byte, v reflect.Value) ([]byte, error)

var (
	encoders sync.Map // reflect.Type → encoder

	appenderType      = reflect.TypeFor[Appender]()
	kinderType        = reflect.TypeFor[Kinder]()
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	rawType           = reflect.TypeFor[json.RawMessage]()
)

// Append writes v as JSON.
func Append(dst []byte, v any) ([]byte, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return append(dst, "null"...), nil
	}
	return encoderOf(rv.Type())(dst, rv)
}

func appendFields(dst []byte, v any) ([]byte, error) {
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && rv.IsNil() {
		return nil, fmt.Errorf("nil %s", rv.Type())
	}
	rv = reflect.Indirect(rv)
	if rv.Kind() != reflect.Struct || layoutOf(rv.Type()).foreign {
		return appendForeign(dst, reflect.ValueOf(v))
	}
	return appendStruct(dst, rv)
}

func encoderOf(t reflect.Type) encoder {
	if e, ok := encoders.Load(t); ok {
		return e.(encoder)
	}
	e, _ := encoders.LoadOrStore(t, newEncoder(t))
	return e.(encoder)
}

func newEncoder(t reflect.Type) encoder {
	switch {
	case t == rawType:
		return appendRaw
	case t.Kind() == reflect.Interface:
		return appendInterface
	case t.Kind() == reflect.Pointer:
		return appendPointer
	case t.Implements(appenderType):
		return appendAppender
	case reflect.PointerTo(t).Implements(marshalerType), reflect.PointerTo(t).Implements(textMarshalerType):
		return appendForeign
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Bool()), nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int(), 10), nil }
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			return appendForeign
		}
		return func(dst []byte, v reflect.Value) ([]byte, error) { return appendString(dst, v.String()), nil }
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 { // base64 in encoding/json
			return appendSlice
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !t.Key().Implements(textMarshalerType) {
			return appendMap
		}
	case reflect.Struct:
		if !layoutOf(t).foreign {
			return appendStruct
		}
	}
	return appendForeign
}

func appendForeign(dst []byte, v reflect.Value) ([]byte, error) {
	if v.CanAddr() {
		v = v.Addr() // for methods on the pointer
	}
	b, err := json.Marshal(v.Interface())
	return append(dst, b...), err
}

// appendRaw writes raw JSON on one line, and only if it is JSON: it may come
// from a model or a peer, so halves of surrogate pairs are replaced.
func appendRaw(dst []byte, v reflect.Value) ([]byte, error) {
	raw := v.Bytes()
	if raw == nil {
		return append(dst, "null"...), nil
	}
	if err := Check(raw); err != nil {
		return nil, err
	}
	raw = rawjson.WellFormed(raw)
	if bytes.IndexByte(raw, '\n') < 0 {
		return append(dst, raw...), nil
	}
	buf := bytes.NewBuffer(dst)
	err := json.Compact(buf, raw)
	return buf.Bytes(), err
}

func appendInterface(dst []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(dst, "null"...), nil
	}
	if v.Type().Implements(kinderType) {
		return AppendMember(dst, v.Interface().(Kinder))
	}
	v = v.Elem()
	return encoderOf(v.Type())(dst, v)
}

func appendPointer(dst []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(dst, "null"...), nil
	}
	return encoderOf(v.Type().Elem())(dst, v.Elem())
}

func appendAppender(dst []byte, v reflect.Value) ([]byte, error) {
	if v.CanAddr() {
		v = v.Addr() // spares a copy on the heap
	}
	return v.Interface().(Appender).AppendJSON(dst)
}

func appendSlice(dst []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(dst, "null"...), nil
	}
	item := encoderOf(v.Type().Elem())
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = item(dst, v.Index(i)); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(dst, "null"...), nil
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		return bytes.Compare([]byte(a.String()), []byte(b.String()))
	})
	item := encoderOf(v.Type().Elem())
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, key.String()), ':')
		var err error
		if dst, err = item(dst, v.MapIndex(key)); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return append(dst, '}'), nil
}

func appendStruct(dst []byte, v reflect.Value) ([]byte, error) {
	l := layoutOf(v.Type())
	dst = append(dst, '{')
	first := true
	for i := range l.fields {
		f := &l.fields[i]
		fv := v.FieldByIndex(f.index)
		if f.omitted(fv) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		var err error
		if dst, err = encoderOf(f.typ)(append(dst, f.prefix...), fv); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return append(dst, '}'), nil
}
