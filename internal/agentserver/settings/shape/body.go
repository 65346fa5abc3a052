package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// Document reads the body of a request as JSON; nil stands for a body that is
// absent. Errors are those of rest.
func Document(r *http.Request) (v any, sent bool, err error) {
	raw, err := rest.Raw(r)
	if err != nil {
		return nil, false, err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, false, nil
	}
	v, err = Parse(raw)
	if err != nil {
		return nil, true, malformed(raw, err)
	}
	return v, true, nil
}

func malformed(raw []byte, err error) error {
	at := int64(len(raw))
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	}
	return rest.Violations{{
		Type: "json_invalid", Loc: []any{"body", at}, Msg: "JSON decode error", Input: map[string]any{}, Ctx: map[string]any{"error": err.Error()},
	}}
}

// Sent is [Document] for a body that must be there.
func Sent(r *http.Request) (any, error) {
	v, sent, err := Document(r)
	if err == nil && !sent {
		err = rest.Missing("body")
	}
	return v, err
}

// Body reads the body of a request, which must be a document of this form.
// Sealed secrets are left sealed: who needs them opens them with Check.
func (o *Object) Body(r *http.Request) (*Map, error) {
	v, err := Sent(r)
	if err != nil {
		return nil, err
	}
	return o.Check(v, Reading{}, "body")
}
