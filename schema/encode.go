package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
		if err := write(b, m.values[i]); err != nil {
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
