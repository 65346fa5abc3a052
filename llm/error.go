package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Error is a failed call. Its kind (see fault.KindOf) is one of Auth,
// RateLimit, Quota, Context, Content, Invalid, Unavailable, Timeout, Canceled
// or Internal.
type Error struct {
	cause *fault.Error
	// Provider and Model name the endpoint that failed.
	Provider, Model string
	// Status is the HTTP status, 0 if there was no answer.
	Status int
	// Code is the provider's own error code, if it gave one.
	Code string
	// Retryable reports that the same call may succeed later.
	Retryable bool
	// RetryAfter is how long the provider asked to wait; 0 if it did not.
	RetryAfter time.Duration
	// Partial reports that deltas were delivered before the failure.
	Partial bool
	// Unreached reports that no connection to the endpoint could be made: the
	// address may be wrong.
	Unreached bool
	// Discarded are answers that the provider gave and billed, and that were of no
	// use: see [Response.Discarded].
	Discarded []*Response
}

// CodeEmpty is the Code of an empty answer: no text, no reasoning and no tool
// call.
const CodeEmpty = "empty_answer"

// CodeTruncated is the Code of an answer that ended before its final part.
const CodeTruncated = "truncated_answer"

// ErrNotSetUp is the cause of the errors of models that lack something
// ([Info].Missing).
var ErrNotSetUp = errors.New("a model must be set up first")

// NotSetUp returns the error, of kind Invalid, of a model that lacks something. why is
// one line for the user.
func NotSetUp(why string) error {
	return fault.New(fault.Invalid, why).Because(ErrNotSetUp).
		Hint("set one up in the settings (Models) or with LLM_MODEL and LLM_API_KEY, then try again")
}

// NewError returns an Error of a kind. msg is one line for the user.
func NewError(kind fault.Kind, provider, model, msg string, cause error) *Error {
	return &Error{cause: fault.New(kind, msg).Because(cause), Provider: provider, Model: model}
}

// Hint sets the user's next step and returns e.
func (e *Error) Hint(hint string) *Error {
	e.cause = e.cause.Hint(hint)
	return e
}

// Error implements error.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s %s (HTTP %d): %s", e.Provider, e.Model, e.Status, e.cause.Error())
	}
	return fmt.Sprintf("%s %s: %s", e.Provider, e.Model, e.cause.Error())
}

// UnknownModel reports that the provider has no model of this name, or nothing at all at
// this address.
func (e *Error) UnknownModel() bool {
	return e.Status == http.StatusNotFound || strings.EqualFold(e.Code, "model_not_found")
}

// Unwrap returns the fault, so that fault.KindOf and fault.HintOf work.
func (e *Error) Unwrap() error { return e.cause }
