package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// Body reads the request's body, which must be JSON, into out. A body that is
// absent, malformed, too long or of other types is an error that [Handler]s
// return as it is. Fields that out does not have are ignored. The JSON null
// for a struct is a violation.
func Body(r *http.Request, out any) error {
	raw, err := Raw(r)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return Missing("body")
	}
	return Decode(raw, out, "body")
}

// OptionalBody is [Body] for routes whose body may be absent or null.
func OptionalBody(r *http.Request, out any) error {
	raw, err := Raw(r)
	if err != nil {
		return err
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return Decode(raw, out, "body")
}

var errTooLarge = Fail(http.StatusRequestEntityTooLarge, "Request body is too large")

// Raw reads the request's body, within the route's limit.
func Raw(r *http.Request) ([]byte, error) {
	raw, err := readAll(r)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, errTooLarge
	case err != nil:
		return nil, Fail(http.StatusBadRequest, "There was an error parsing the body")
	}
	return raw, nil
}

// Decode reads JSON into out; loc says where it stood in the request.
func Decode(raw []byte, out any, loc ...any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	err := d.Decode(out)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			return malformed(d.InputOffset(), "Extra data", loc)
		}
		if string(bytes.TrimSpace(raw)) == "null" && isStruct(out) {
			return Missing(loc...)
		}
		return nil
	}
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	var own Violations
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &syntax):
		return malformed(syntax.Offset, syntax.Error(), loc)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return malformed(int64(len(raw)), "unexpected end of JSON input", loc)
	case errors.As(err, &typ):
		return mistyped(typ, loc)
	}
	return Invalid(err.Error(), nil, loc...)
}

func isStruct(out any) bool {
	t := reflect.TypeOf(out)
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

func malformed(at int64, why string, loc []any) Violations {
	return Violations{{
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

func mistyped(e *json.UnmarshalTypeError, loc []any) Violations {
	if e.Field != "" {
		for part := range strings.SplitSeq(e.Field, ".") {
			loc = append(loc[:len(loc):len(loc)], part)
		}
	}
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
	return Violations{{Type: want[0], Loc: loc, Msg: want[1], Input: e.Value}}
}
