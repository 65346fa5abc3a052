package rest

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
)

// ErrBroken is returned by a [Handler] that cannot finish an answer it has begun.
// The connection is then closed, so that the client notices.
var ErrBroken = errors.New("the answer broke off")

// Error is an error answer with the reference's own status and detail.
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

// detailed is an error of a domain that names its mistake in a form of the
// contract, such as launch.Error.
type detailed interface{ Detail() any }

// answer returns the status and the body for an error.
func answer(err error) (status int, body any) {
	var own *Error
	var bad schema.Violations
	var said detailed
	switch {
	case errors.As(err, &bad):
		return http.StatusUnprocessableEntity, map[string]any{"detail": sanitized(bad)}
	case errors.As(err, &own):
		if own.Status >= 500 {
			return own.Status, map[string]any{"detail": http.StatusText(http.StatusInternalServerError), "exception": own.Error()}
		}
		return own.Status, map[string]any{"detail": own.Detail}
	case errors.Is(err, schema.ErrSealed): // it works again when the key is configured
		return http.StatusServiceUnavailable, map[string]any{"detail": Text(err)}
	case errors.As(err, &said):
		return fault.KindOf(err).HTTPStatus(), map[string]any{"detail": said.Detail()}
	}
	kind := fault.KindOf(err)
	if status = kind.HTTPStatus(); status < 500 && kind != fault.Canceled {
		return status, map[string]any{"detail": Text(err)}
	}
	return status, map[string]any{"detail": http.StatusText(http.StatusInternalServerError), "exception": Text(err)}
}

// worded is an error whose answer has its text under "error", too.
type worded struct{ error }

func (w worded) Unwrap() error { return w.error }

// Worded returns h with errors that also have their text under "error": OpenHands' page shows
// it, and no "detail".
func Worded(h Valued) Valued {
	return func(r *http.Request) (any, error) {
		v, err := h(r)
		if err != nil {
			err = worded{err}
		}
		return v, err
	}
}

// Text is an error with its hint.
func Text(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + ": " + hint
	}
	return err.Error()
}
