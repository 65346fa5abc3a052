package rest

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/deft-dev/deft/fault"
)

// ErrBroken is returned by a [Handler] whose answer broke off after it had
// begun: the connection is closed, so that the client sees it.
var ErrBroken = errors.New("the answer broke off")

// Error is an answer that is not a success, with the reference's own status
// and detail.
type Error struct {
	Status int
	Detail any // a string, or an object
}

// Error implements error.
func (e *Error) Error() string {
	if s, ok := e.Detail.(string); ok {
		return s
	}
	b, err := json.Marshal(e.Detail)
	if err != nil {
		return http.StatusText(e.Status)
	}
	return string(b)
}

// Fail returns an [Error].
func Fail(status int, detail any) error { return &Error{Status: status, Detail: detail} }

// Violation is one thing that is wrong with a request, in the form of the
// reference's validation (sdk-wire.md section 2).
type Violation struct {
	Type  string         `json:"type"` // "missing", "int_parsing" …
	Loc   []any          `json:"loc"`  // "body", "query" or "path", then where
	Msg   string         `json:"msg"`
	Input any            `json:"input"`
	Ctx   map[string]any `json:"ctx,omitempty"`
}

// Violations is an error of several; it is answered with 422.
type Violations []Violation

// Error implements error.
func (v Violations) Error() string {
	if len(v) == 0 {
		return "the request is not valid"
	}
	return v[0].Msg
}

// Missing returns the violation of an absent field, at a place such as
// "body", "command".
func Missing(loc ...any) Violations {
	return Violations{{Type: "missing", Loc: loc, Msg: "Field required"}}
}

// Invalid returns a violation with a message of one's own.
func Invalid(msg string, input any, loc ...any) Violations {
	return Violations{{
		Type: "value_error", Loc: loc, Msg: "Value error, " + msg, Input: input,
		Ctx: map[string]any{"error": msg},
	}}
}

// answer returns the status and the body for an error.
func answer(err error) (status int, body any) {
	var own *Error
	var bad Violations
	switch {
	case errors.As(err, &bad):
		return http.StatusUnprocessableEntity, map[string]any{"detail": bad.sanitized()}
	case errors.As(err, &own):
		if own.Status >= 500 {
			return own.Status, map[string]any{"detail": http.StatusText(http.StatusInternalServerError), "exception": own.Error()}
		}
		return own.Status, map[string]any{"detail": own.Detail}
	}
	kind := fault.KindOf(err)
	if status = kind.HTTPStatus(); status < 500 && kind != fault.Canceled {
		return status, map[string]any{"detail": text(err)}
	}
	return status, map[string]any{"detail": http.StatusText(http.StatusInternalServerError), "exception": text(err)}
}

// text is an error with what the user can do about it.
func text(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + ": " + hint
	}
	return err.Error()
}
