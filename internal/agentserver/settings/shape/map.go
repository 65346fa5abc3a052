package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Map is a JSON object that keeps the order of its keys. The zero value and
// nil are empty objects; only a Map that was made can be written to.
type Map struct {
	keys   []string
	values map[string]any
}

// NewMap returns an empty object.
func NewMap() *Map { return &Map{values: map[string]any{}} }

// sized returns an empty object with room for n keys.
func sized(n int) *Map {
	return &Map{keys: make([]string, 0, n), values: make(map[string]any, n)}
}

// Of returns an object of keys and values that follow one another.
func Of(pairs ...any) *Map {
	m := NewMap()
	for i := 0; i+1 < len(pairs); i += 2 {
		if key, ok := pairs[i].(string); ok {
			m.Set(key, pairs[i+1])
		}
	}
	return m
}

// Len returns the number of keys.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.keys)
}

// Keys returns the keys in their order. Callers must not change the slice.
func (m *Map) Keys() []string {
	if m == nil {
		return nil
	}
	return m.keys
}

// Lookup returns a value and whether it is there; null is there.
func (m *Map) Lookup(key string) (any, bool) {
	if m == nil {
		return nil, false
	}
	v, ok := m.values[key]
	return v, ok
}

// Get returns a value, nil if it is absent.
func (m *Map) Get(key string) any {
	v, _ := m.Lookup(key)
	return v
}

// Text returns a value that is a string, else "".
func (m *Map) Text(key string) string {
	s, _ := m.Get(key).(string)
	return s
}

// Object returns a value that is an object, else nil.
func (m *Map) Object(key string) *Map {
	o, _ := m.Get(key).(*Map)
	return o
}

// Set writes a value. A new key comes last, an old one keeps its place.
func (m *Map) Set(key string, v any) {
	if _, ok := m.values[key]; !ok {
		m.keys = append(m.keys, key)
	}
	m.values[key] = v
}

// Delete removes a key, if it is there.
func (m *Map) Delete(key string) {
	if _, ok := m.Lookup(key); !ok {
		return
	}
	delete(m.values, key)
	for i, k := range m.keys {
		if k == key {
			m.keys = append(m.keys[:i:i], m.keys[i+1:]...)
			return
		}
	}
}

// Copy returns an object with the same keys and the same values.
func (m *Map) Copy() *Map {
	c := sized(m.Len())
	for _, k := range m.Keys() {
		c.Set(k, m.values[k])
	}
	return c
}

// MarshalJSON implements json.Marshaler.
func (m *Map) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := write(&b, m); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Map) UnmarshalJSON(raw []byte) error {
	v, err := Parse(raw)
	if err != nil {
		return err
	}
	o, ok := v.(*Map)
	if !ok {
		return fmt.Errorf("want a JSON object")
	}
	*m = *o
	return nil
}

// Encode returns a value as compact JSON, Indent as the reference writes
// files: by two spaces, other alphabets escaped.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b, v)
	return b.Bytes(), err
}

// Indent is [Encode] for files.
func Indent(v any) ([]byte, error) {
	raw, err := Encode(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func write(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case *Map:
		return writeObject(b, v)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, e); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case bool, string, json.Number, int, float64, json.RawMessage:
		return writeScalar(b, v)
	default:
		return fmt.Errorf("a %T is no JSON value here", v)
	}
	return nil
}

func writeObject(b *bytes.Buffer, m *Map) error {
	b.WriteByte('{')
	for i, k := range m.Keys() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeScalar(b, k); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := write(b, m.values[k]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeScalar(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case bool:
		b.WriteString(strconv.FormatBool(v))
		return nil
	case json.Number:
		if v != "" {
			b.WriteString(string(v)) // it came out of JSON, or was made here
			return nil
		}
	case string:
		if plain(v) {
			b.WriteByte('"')
			b.WriteString(v)
			b.WriteByte('"')
			return nil
		}
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1)
	return nil
}

// plain reports whether a text is written as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Float writes a number as the reference writes its floats: with a fraction,
// even if that is zero.
func Float(f float64) json.Number {
	raw, err := json.Marshal(f)
	if err != nil {
		return "0.0" // neither NaN nor an infinity comes out of JSON
	}
	if s := string(raw); strings.ContainsAny(s, ".eE") {
		return json.Number(s)
	}
	return json.Number(string(raw) + ".0")
}

// Merge applies a JSON merge patch (RFC 7386): objects merge key by key, null
// removes a key, everything else replaces.
func Merge(base, patch *Map) *Map {
	out := base.Copy()
	for _, k := range patch.Keys() {
		switch v := patch.values[k].(type) {
		case nil:
			out.Delete(k)
		case *Map:
			if old, ok := out.Get(k).(*Map); ok {
				out.Set(k, Merge(old, v))
			} else {
				out.Set(k, v)
			}
		default:
			out.Set(k, v)
		}
	}
	return out
}

// MergeFields is [Merge], except that null on the first level is a value like
// any other: the fields of settings have types that say whether it fits.
func MergeFields(base, patch *Map) *Map {
	out := base.Copy()
	for _, k := range patch.Keys() {
		old, isMap := out.Get(k).(*Map)
		v, patches := patch.values[k].(*Map)
		if isMap && patches {
			out.Set(k, Merge(old, v))
		} else {
			out.Set(k, patch.values[k])
		}
	}
	return out
}
