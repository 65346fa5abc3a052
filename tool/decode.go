package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// DecodeInto decodes arguments into the action T strictly: an argument that T
// does not have is an error of kind fault.Invalid that lists those it has.
// Missing ones get the defaults of the wire contract ([event.Defaulter]). It
// fits [Definition.Decode]:
//
//	Decode: tool.DecodeInto[event.ThinkAction]
func DecodeInto[T any, P interface {
	*T
	event.Action
}](args json.RawMessage) (event.Action, error) {
	action := P(new(T))
	if d, ok := any(action).(event.Defaulter); ok {
		d.SetDefaults()
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	err := dec.Decode(action)
	if err == nil {
		return action, nil
	}
	allowed := jsonFields(reflect.TypeFor[T]())
	if name, ok := unknownField(err); ok {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("there is no argument %s%s; the arguments are %s",
			name, didYouMean(strings.Trim(name, `"`), allowed), list(allowed)))
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("argument %q must be %s, not a %s",
			wrong.Field, jsonType(wrong.Type), wrong.Value))
	}
	return nil, fault.Wrap(err, fault.Invalid, "arguments")
}

// unknownField finds the name that DisallowUnknownFields complains of; the
// error has no type of its own.
func unknownField(err error) (name string, ok bool) {
	return strings.CutPrefix(err.Error(), "json: unknown field ")
}

// jsonType names the JSON type that a Go type takes.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "an integer"
}

// jsonFields returns the names of a struct's fields on the wire.
func jsonFields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" && f.IsExported() {
			names = append(names, name)
		}
	}
	return names
}
