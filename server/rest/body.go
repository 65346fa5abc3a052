package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/deft-dev/deft/schema"
)

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
	if err != nil {
		return nil, BodyError(err)
	}
	r.Body = &readBody{ReadCloser: r.Body, raw: raw}
	return raw, nil
}

// BodyError is the answer to a body that cannot be read because of err.
func BodyError(err error) error {
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return errTooLarge
	}
	return Fail(http.StatusBadRequest, "There was an error parsing the body")
}

// Document reads the body of a request as a JSON document of package schema.
// sent is false for an empty body. A long body is freed: a handler may wait for
// a model for minutes.
func Document(r *http.Request) (v any, sent bool, err error) {
	raw, err := Raw(r)
	if err != nil {
		return nil, false, err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, false, nil
	}
	if !utf8.Valid(raw) { // the decoder would take other characters for invalid bytes
		return nil, true, Fail(http.StatusBadRequest, "There was an error parsing the body: it is not UTF-8")
	}
	v, err = schema.Parse(raw)
	if err != nil {
		at := int64(len(raw))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		}
		return nil, true, schema.Violations{{
			Type: "json_invalid", Loc: []any{"body", at}, Msg: "JSON decode error",
			Input: map[string]any{}, Ctx: map[string]any{"error": err.Error()},
		}}
	}
	if body, ok := r.Body.(*readBody); ok && len(raw) > maxQuoted {
		body.raw, body.freed = nil, true
	}
	return v, true, nil
}

// RequiredDocument is [Document] for a body that must be sent.
func RequiredDocument(r *http.Request) (any, error) {
	v, sent, err := Document(r)
	if err == nil && !sent {
		err = schema.Missing("body")
	}
	return v, err
}

// BodyAs reads the body of a request, which must be a document that o
// describes. Sealed secrets stay sealed: to open them use
// [schema.Object.Check].
func BodyAs(r *http.Request, o *schema.Object) (*schema.Map, error) {
	v, err := RequiredDocument(r)
	if err != nil {
		return nil, err
	}
	return o.Check(v, schema.Reading{}, "body")
}

// Read checks the body of a request, which o describes, and fills the struct
// that out points to (see [schema.Into]).
func Read(r *http.Request, o *schema.Object, out any) error {
	m, err := BodyAs(r, o)
	if err != nil {
		return err
	}
	return schema.Into(m, out)
}

// ReadOptional is [Read] for a body that may be missing or null, which stands
// for an empty object.
func ReadOptional(r *http.Request, o *schema.Object, out any) error {
	v, _, err := Document(r)
	if err != nil {
		return err
	}
	if v == nil {
		v = schema.NewMap()
	}
	m, err := o.Check(v, schema.Reading{}, "body")
	if err != nil {
		return err
	}
	return schema.Into(m, out)
}
