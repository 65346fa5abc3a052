// Package wire encodes and decodes the JSON of the event vocabulary in one
// pass each way.
//
// # Usage
//
// [Append] writes any Go value. [Check] verifies that input is one JSON value in
// UTF-8; only checked input may be given to [Members], [Decode] and the like,
// which trust it and therefore need not look at the inside of a value they skip.
// Struct tags mean the same as for encoding/json, except that field names match
// exactly and that U+2028, <, > and & are written unescaped. Types that this
// package does not know (a json.Marshaler, a field with the option "string", an
// array) are left to encoding/json.
//
// # Why not encoding/json alone
//
// An observation is four values deep and carries tens of kilobytes of text.
// encoding/json checks, skips or compacts that text once more for each level
// at which a type has methods of its own; here it is looked at once.
//
// # Concurrency
//
// Everything may be used from many goroutines. [Union] is called from init
// functions.
//
// # Failure
//
// Input of the wrong type gives an error that names the field; nothing
// panics on bad input.
package wire

import (
	"encoding/json"
	"reflect"
)

// Appender is a type that writes its own JSON.
type Appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// Parser is a type that reads its own JSON, which was checked. It must not
// keep b.
type Parser interface {
	ParseJSON(b []byte) error
}

// Defaulter is a type whose absent fields do not all mean zero: SetDefaults
// runs on the new value before its JSON is decoded.
type Defaulter interface {
	SetDefaults()
}

// Kinder is a member of a union: its JSON ends with its kind.
type Kinder interface {
	Kind() string
}

// AppendMember writes a member of a union, with its own MarshalJSON if it has
// one, and then its "kind".
func AppendMember(dst []byte, v Kinder) ([]byte, error) {
	switch v := v.(type) {
	case Appender:
		return v.AppendJSON(dst)
	case json.Marshaler:
		start := len(dst)
		dst, err := appendForeign(dst, reflect.ValueOf(v))
		return appendKind(dst, start, v.(Kinder).Kind(), err)
	}
	return AppendFields(dst, v)
}

// AppendFields writes the fields of the struct that v points to, and then its
// "kind". It does not ask v how it wants to be written: v's MarshalJSON may
// well be the caller.
func AppendFields(dst []byte, v Kinder) ([]byte, error) {
	start := len(dst)
	dst, err := appendFields(dst, v)
	return appendKind(dst, start, v.Kind(), err)
}

// appendKind adds "kind" to the object that dst holds from start on.
func appendKind(dst []byte, start int, kind string, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	end := len(dst) - 1
	if end <= start || dst[start] != '{' || dst[end] != '}' {
		return nil, errNotObject
	}
	dst = dst[:end]
	if end > start+1 {
		dst = append(dst, ',')
	}
	dst = append(dst, `"kind":`...)
	return append(appendString(dst, kind), '}'), nil
}
