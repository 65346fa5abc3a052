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
func (m *Map) MarshalJSON() ([]byte, error) { return Encode(m) }

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
// files: indented by two spaces.
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
	err = json.Indent(&b, raw, "", "  ")
	return b.Bytes(), err
}

func write(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case *Map:
		return writeAll(b, "{}", v.Len(), func(i int) error {
			if err := writeText(b, v.keys[i]); err != nil {
				return err
			}
			b.WriteByte(':')
			return write(b, v.values[i])
		})
	case []any:
		return writeAll(b, "[]", len(v), func(i int) error { return write(b, v[i]) })
	case bool:
		b.WriteString(strconv.FormatBool(v))
		return nil
	case json.Number:
		if v != "" {
			b.WriteString(string(v)) // it came out of JSON, or was made here
			return nil
		}
	case string:
		return writeText(b, v)
	case nil:
		b.WriteString("null")
		return nil
	case int, float64, json.RawMessage:
	default:
		return fmt.Errorf("a %T is no JSON value here", v)
	}
	return writeOther(b, v)
}

func writeText(b *bytes.Buffer, s string) error {
	if !plain(s) {
		return writeOther(b, s)
	}
	b.WriteByte('"')
	b.WriteString(s)
	b.WriteByte('"')
	return nil
}

// writeOther leaves a value to encoding/json.
func writeOther(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line's end
	return nil
}

// writeAll writes the members of an object or of a list.
func writeAll(b *bytes.Buffer, brackets string, n int, one func(int) error) error {
	b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := one(i); err != nil {
			return err
		}
	}
	b.WriteByte(brackets[1])
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
