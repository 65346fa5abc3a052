package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/deft-dev/deft/schema"
)

// Document reads the body of a request as a JSON document of package schema.
// sent is false for an empty body.
func Document(r *http.Request) (v any, sent bool, err error) {
	raw, err := Raw(r)
	if err != nil {
		return nil, false, err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, false, nil
	}
	v, err = schema.Parse(raw)
	if err != nil {
		at := int64(len(raw))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		}
		return nil, true, malformed(at, err.Error(), []any{"body"})
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

// CheckBody is [schema.Object.Fits] for the body of a request.
func CheckBody(r *http.Request, o *schema.Object) error {
	raw, err := Raw(r)
	if err == nil {
		_, err = o.Fits(raw, "body")
	}
	return err
}
