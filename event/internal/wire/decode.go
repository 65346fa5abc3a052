package wire

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"sync"
)

type decoder func(b []byte, v reflect.Value) error

var (
	decoders sync.Map // reflect.Type → decoder
	unions   sync.Map // reflect.Type of an interface → decoder

	parserType          = reflect.TypeFor[Parser]()
	defaulterType       = reflect.TypeFor[Defaulter]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Union tells how values of the interface type T are decoded from checked
// JSON that is not null.
func Union[T any](decode func(b []byte) (T, error)) {
	unions.Store(reflect.TypeFor[T](), decoder(func(b []byte, v reflect.Value) error {
		t, err := decode(b)
		if err != nil {
			return err
		}
		v.Set(reflect.ValueOf(t))
		return nil
	}))
}

// Decode reads checked JSON into the value behind ptr.
func Decode(b []byte, ptr any) error {
	v := reflect.ValueOf(ptr).Elem()
	return decoderOf(v.Type())(trim(b), v)
}

// DecodeMembers reads the members of an object into the struct that ptr
// points to, without asking ptr itself.
func DecodeMembers(members []Member, ptr any) error {
	v := reflect.ValueOf(ptr).Elem()
	if d, ok := ptr.(Defaulter); ok {
		d.SetDefaults()
	}
	return setMembers(members, v)
}

// DecodeMember reads the union member that ptr points to from the checked
// object b with the given members: with its own UnmarshalJSON if it has one.
func DecodeMember(b []byte, members []Member, ptr any) error {
	_, own := ptr.(json.Unmarshaler)
	t := reflect.TypeOf(ptr).Elem()
	if !own && t.Kind() == reflect.Struct && !layoutOf(t).foreign {
		return DecodeMembers(members, ptr)
	}
	if d, ok := ptr.(Defaulter); ok {
		d.SetDefaults()
	}
	return json.Unmarshal(b, ptr)
}

func trim(b []byte) []byte {
	i := space(b, 0)
	return b[i:skip(b, i)]
}

func decoderOf(t reflect.Type) decoder {
	if d, ok := decoders.Load(t); ok {
		return d.(decoder)
	}
	d, _ := decoders.LoadOrStore(t, newDecoder(t))
	return d.(decoder)
}

func newDecoder(t reflect.Type) decoder {
	ptr := reflect.PointerTo(t)
	switch {
	case t == rawType:
		return func(b []byte, v reflect.Value) error { v.SetBytes(append([]byte(nil), b...)); return nil }
	case t.Kind() == reflect.Interface:
		return setInterface
	case t.Kind() == reflect.Pointer:
		return setPointer
	case ptr.Implements(parserType):
		return func(b []byte, v reflect.Value) error { return v.Addr().Interface().(Parser).ParseJSON(b) }
	case ptr.Implements(unmarshalerType), ptr.Implements(textUnmarshalerType):
		return setForeign
	}
	switch t.Kind() {
	case reflect.Bool:
		return unlessNull(setBool)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return unlessNull(setInt)
	case reflect.Float32, reflect.Float64:
		return unlessNull(setFloat)
	case reflect.String:
		if t != reflect.TypeFor[json.Number]() {
			return unlessNull(setString)
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return setSlice
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !reflect.PointerTo(t.Key()).Implements(textUnmarshalerType) {
			return setMap
		}
	case reflect.Struct:
		if !layoutOf(t).foreign {
			return unlessNull(setStruct)
		}
	}
	return setForeign
}

func setForeign(b []byte, v reflect.Value) error { return json.Unmarshal(b, v.Addr().Interface()) }

func isNull(b []byte) bool { return b[0] == 'n' }

// unlessNull leaves v as it is for null, as encoding/json does.
func unlessNull(set decoder) decoder {
	return func(b []byte, v reflect.Value) error {
		if isNull(b) {
			return nil
		}
		return set(b, v)
	}
}

func mismatch(b []byte, v reflect.Value) error {
	if len(b) > 32 {
		b = b[:32]
	}
	return fmt.Errorf("%q does not fit %s", b, v.Type())
}

func setBool(b []byte, v reflect.Value) error {
	if b[0] != 't' && b[0] != 'f' {
		return mismatch(b, v)
	}
	v.SetBool(b[0] == 't')
	return nil
}

// setInt also takes numbers such as 3.0, which models write for integers.
func setInt(b []byte, v reflect.Value) error {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(string(b), 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return mismatch(b, v)
		}
		n = int64(f)
	}
	if v.OverflowInt(n) {
		return mismatch(b, v)
	}
	v.SetInt(n)
	return nil
}

func setFloat(b []byte, v reflect.Value) error {
	f, err := strconv.ParseFloat(string(b), v.Type().Bits())
	if err != nil {
		return mismatch(b, v)
	}
	v.SetFloat(f)
	return nil
}

func setString(b []byte, v reflect.Value) error {
	if b[0] != '"' {
		return mismatch(b, v)
	}
	v.SetString(unquote(b))
	return nil
}

func setInterface(b []byte, v reflect.Value) error {
	if isNull(b) {
		v.SetZero()
		return nil
	}
	if d, ok := unions.Load(v.Type()); ok {
		return d.(decoder)(b, v)
	}
	return setForeign(b, v)
}

func setPointer(b []byte, v reflect.Value) error {
	if isNull(b) {
		v.SetZero()
		return nil
	}
	p := reflect.New(v.Type().Elem())
	if err := decoderOf(v.Type().Elem())(b, p.Elem()); err != nil {
		return err
	}
	v.Set(p)
	return nil
}

func setSlice(b []byte, v reflect.Value) error {
	if isNull(b) {
		v.SetZero()
		return nil
	}
	if b[0] != '[' {
		return mismatch(b, v)
	}
	item := decoderOf(v.Type().Elem())
	out := reflect.New(v.Type()).Elem()
	out.Set(reflect.MakeSlice(v.Type(), 0, 0))
	err := elements(b, func(e []byte) error {
		n := out.Len()
		out.Grow(1)
		out.SetLen(n + 1)
		if err := item(e, out.Index(n)); err != nil {
			return fmt.Errorf("[%d]: %w", n, err)
		}
		return nil
	})
	v.Set(out)
	return err
}

func setMap(b []byte, v reflect.Value) error {
	if isNull(b) {
		v.SetZero()
		return nil
	}
	members, err := Members(b, nil)
	if err != nil {
		return mismatch(b, v)
	}
	t := v.Type()
	item := decoderOf(t.Elem())
	out := reflect.MakeMapWithSize(t, len(members))
	for _, m := range members {
		e := reflect.New(t.Elem()).Elem()
		if err := item(m.Value, e); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		out.SetMapIndex(reflect.ValueOf(string(m.Name)).Convert(t.Key()), e)
	}
	v.Set(out)
	return nil
}

func setStruct(b []byte, v reflect.Value) error {
	var some [16]Member
	members, err := Members(b, some[:0])
	if err != nil {
		return mismatch(b, v)
	}
	if reflect.PointerTo(v.Type()).Implements(defaulterType) {
		v.Addr().Interface().(Defaulter).SetDefaults()
	}
	return setMembers(members, v)
}

func setMembers(members []Member, v reflect.Value) error {
	l := layoutOf(v.Type())
	for _, m := range members {
		at, ok := l.byName[string(m.Name)]
		if !ok {
			continue
		}
		f := &l.fields[at]
		if err := decoderOf(f.typ)(m.Value, v.FieldByIndex(f.index)); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}
