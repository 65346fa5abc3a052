package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/deft-dev/deft/schema"
)

// Body reads the request's body, which must be JSON, into out. A body that is
// missing, malformed, too long or of other types is an error that [Handler]s
// return unchanged. Fields that out does not have are ignored. The JSON null
// for a struct is a violation.
func Body(r *http.Request, out any) error {
	raw, err := Raw(r)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return schema.Missing("body")
	}
	return decodeOnce(r, raw, out)
}

// decodeOnce decodes the body and frees a long one: a handler may wait for a model
// for minutes.
func decodeOnce(r *http.Request, raw []byte, out any) error {
	err := Decode(raw, out, "body")
	if body, ok := r.Body.(*readBody); ok && err == nil && len(raw) > maxQuoted {
		body.raw, body.freed = nil, true
	}
	return err
}

// OptionalBody is [Body] for routes whose body may be missing or null.
func OptionalBody(r *http.Request, out any) error {
	raw, err := Raw(r)
	if err != nil {
		return err
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return decodeOnce(r, raw, out)
}

var errTooLarge = Fail(http.StatusRequestEntityTooLarge, "Request body is too large")

// Raw reads the request's body, within the route's limit.
func Raw(r *http.Request) ([]byte, error) {
	if body, ok := r.Body.(*readBody); ok {
		if body.freed {
			return nil, errors.New("the body was decoded and freed")
		}
		return body.raw, nil
	}
	raw, err := readAll(r)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, errTooLarge
	case err != nil:
		return nil, Fail(http.StatusBadRequest, "There was an error parsing the body")
	}
	r.Body = &readBody{ReadCloser: r.Body, raw: raw}
	return raw, nil
}

// Decode reads JSON into out; loc is its place in the request.
func Decode(raw []byte, out any, loc ...any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	err := d.Decode(out)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			return malformed(d.InputOffset(), "Extra data", loc)
		}
		if string(bytes.TrimSpace(raw)) == "null" && isStruct(out) {
			return schema.Missing(loc...)
		}
		return nil
	}
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	var own schema.Violations
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &syntax):
		return malformed(syntax.Offset, syntax.Error(), loc)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return malformed(int64(len(raw)), "unexpected end of JSON input", loc)
	case errors.As(err, &typ):
		return mistyped(typ, raw, loc)
	}
	return schema.Invalid(err.Error(), nil, loc...)
}

func isStruct(out any) bool {
	t := reflect.TypeOf(out)
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

func malformed(at int64, why string, loc []any) schema.Violations {
	return schema.Violations{{
		Type: "json_invalid", Loc: append(loc[:len(loc):len(loc)], at), Msg: "JSON decode error",
		Input: map[string]any{}, Ctx: map[string]any{"error": why},
	}}
}

// expected names a Go type as the reference names its own.
var expected = map[reflect.Kind][2]string{
	reflect.String: {"string_type", "Input should be a valid string"},
	reflect.Bool:   {"bool_type", "Input should be a valid boolean"},
	reflect.Slice:  {"list_type", "Input should be a valid list"},
	reflect.Map:    {"dict_type", "Input should be a valid dictionary"},
	reflect.Struct: {"model_attributes_type", "Input should be a valid dictionary or object to extract fields from"},
}

func mistyped(e *json.UnmarshalTypeError, raw []byte, loc []any) schema.Violations {
	var path []string
	if e.Field != "" {
		path = strings.Split(e.Field, ".")
	}
	kind, _, _ := strings.Cut(e.Value, " ") // "number 1.5"
	at, input, found := locate(raw, path, kind, maxLocateDepth)
	if !found {
		at = nil
		for _, part := range path {
			at = append(at, part)
		}
	}
	loc = append(loc[:len(loc):len(loc)], at...)
	want, ok := expected[e.Type.Kind()]
	switch k := e.Type.Kind(); {
	case ok:
	case k >= reflect.Int && k <= reflect.Uint64:
		want = [2]string{"int_type", "Input should be a valid integer"}
	case k == reflect.Float32 || k == reflect.Float64:
		want = [2]string{"float_type", "Input should be a valid number"}
	default:
		want = [2]string{"type_error", "Input has the wrong type"}
	}
	return schema.Violations{{Type: want[0], Loc: loc, Msg: want[1], Input: input}}
}

// maxLocateDepth bounds how deep locate searches: it reads each level again.
const maxLocateDepth = 16

// locate finds the value of a kind at a path without list indexes and map keys,
// as encoding/json reports it.
func locate(raw json.RawMessage, path []string, kind string, depth int) (at []any, value any, found bool) {
	if len(path) == 0 && kindOf(raw) == kind {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		err := d.Decode(&value)
		return nil, value, err == nil
	}
	if depth == 0 {
		return nil, nil, false
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for i, item := range list {
			if at, value, found = locate(item, path, kind, depth-1); found {
				return append([]any{i}, at...), value, true
			}
		}
		return nil, nil, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil, nil, false
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		rest := path
		if len(path) > 0 {
			if !strings.EqualFold(name, path[0]) {
				continue
			}
			rest = path[1:]
		}
		if at, value, found = locate(fields[name], rest, kind, depth-1); found {
			return append([]any{name}, at...), value, true
		}
	}
	return nil, nil, false
}

// kindOf names a JSON value as [json.UnmarshalTypeError] does.
func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}
