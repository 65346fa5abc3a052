package gateway

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

// problem is OpenAI's form of an error.
type problem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// types are OpenAI's names of errors by their status.
var types = map[int]string{
	http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error",
	http.StatusNotFound: "not_found_error", http.StatusTooManyRequests: "rate_limit_error",
}

// withOpenAIError answers errors in both forms. Unexpected errors are left to the
// server, which logs them.
func withOpenAIError(h rest.Handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := h(w, r)
		if err == nil || errors.Is(err, rest.ErrBroken) {
			return err
		}
		status, detail, message := explain(r, err)
		if status == 0 {
			return err
		}
		p := problem{Message: message, Type: types[status]}
		switch {
		case p.Type != "":
		case status >= 500:
			p.Type = "server_error"
		default:
			p.Type = "invalid_request_error"
		}
		return rest.JSON(w, status, map[string]any{"detail": detail, "error": p})
	}
}

// explain returns the status, the reference's detail and a sentence; a status of 0
// for an error that the server answers.
func explain(r *http.Request, err error) (status int, detail any, message string) {
	var bad schema.Violations
	var own *rest.Error
	switch {
	case errors.As(err, &bad):
		message = bad.Error()
		if len(bad) > 0 {
			if at, err := json.Marshal(bad[0].Loc); err == nil {
				message += " at " + string(at)
			}
		}
		return http.StatusUnprocessableEntity, rest.Quoted(bad, r), message
	case errors.As(err, &own):
		return own.Status, own.Detail, own.Error()
	}
	if kind := fault.KindOf(err); kind != fault.Internal && kind != fault.Canceled {
		if status = kind.HTTPStatus(); status < 500 {
			return status, err.Error(), err.Error()
		}
	}
	return 0, nil, ""
}
