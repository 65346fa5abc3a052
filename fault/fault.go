// Package fault gives every error that crosses a package boundary a kind, so
// that HTTP statuses, exit codes and messages to users are each decided in one
// place.
//
// # Usage
//
// The place that first understands the failure makes the error:
//
//	return fault.New(fault.NotFound, "no conversation "+id).Hint("`deft conversations list` lists all conversations")
//
// Higher layers add context with plain wrapping,
// fmt.Errorf("open event log: %w", err), once each. The edge asks
// [KindOf] and [HintOf] and shows the error's text. An error without a kind is
// [Internal].
//
// # Concurrency and failure
//
// Errors are immutable once returned; everything here is safe for concurrent
// use and nothing fails.
package fault

import "errors"

// Kind classifies an error by the caller's possible reaction.
type Kind string

// The kinds. A new one is added only together with its exit code and HTTP
// status (see [Kind.ExitCode] and [Kind.HTTPStatus]).
const (
	Internal    Kind = "internal"     // a defect, or an unforeseen error
	Invalid     Kind = "invalid"      // the input is wrong; repeating it will not help
	NotFound    Kind = "not_found"    // the named thing does not exist
	Gone        Kind = "gone"         // the thing was there and will not be again
	Conflict    Kind = "conflict"     // the thing exists already, or is in another state
	Denied      Kind = "denied"       // refused by a permission, a policy or a sandbox
	Auth        Kind = "auth"         // a credential is missing or was not accepted
	RateLimit   Kind = "rate_limit"   // too many requests; later will do
	Quota       Kind = "quota"        // an allowance is used up; waiting will not help
	Limit       Kind = "limit"        // an iteration or spending limit of the user's was reached
	Context     Kind = "context"      // the prompt does not fit the model's context window
	Content     Kind = "content"      // a provider's content filter refused
	Unavailable Kind = "unavailable"  // a peer is down, unreachable or overloaded
	Timeout     Kind = "timeout"      // no answer within the time allowed
	Canceled    Kind = "canceled"     // the caller gave up
	Interrupted Kind = "interrupted"  // cut off half way; the effect is unknown
	Corrupt     Kind = "corrupt"      // stored data does not read back as written
	Full        Kind = "storage_full" // no space, inodes or quota left where data is kept
	Stuck       Kind = "stuck"        // the agent repeats itself without progress
	Unsupported Kind = "unsupported"  // this host, model or build cannot do it
)

// Error is an error with a kind, a sentence for the user, optionally a next
// step, and the cause.
type Error struct {
	kind Kind
	msg  string
	hint string
	err  error
}

// New returns an error of the given kind. msg is lower case, without a full stop,
// and describes the failure in the user's terms.
func New(kind Kind, msg string) *Error { return &Error{kind: kind, msg: msg} }

// Wrap gives err a kind and a message. It returns an untyped nil error for a
// nil err, so that `return fault.Wrap(…)` is safe.
func Wrap(err error, kind Kind, msg string) error {
	if err == nil {
		return nil
	}
	return &Error{kind: kind, msg: msg, err: err}
}

// Hint returns a copy of the error with the user's next step.
func (e *Error) Hint(hint string) *Error {
	c := *e
	c.hint = hint
	return &c
}

// Because returns a copy of the error with err as its cause.
func (e *Error) Because(err error) *Error {
	c := *e
	c.err = err
	return &c
}

// Error implements error: the message, then the cause.
func (e *Error) Error() string {
	if e.err == nil {
		return e.msg
	}
	return e.msg + ": " + e.err.Error()
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.err }

// Kind returns the error's kind.
func (e *Error) Kind() Kind { return e.kind }

// Is reports whether target is an *Error of the same kind with no message of
// its own, so that errors.Is(err, fault.New(fault.NotFound, "")) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.msg == "" && t.err == nil && t.kind == e.kind
}

// KindOf returns the kind of the outermost error in err's chain that has one,
// or [Internal].
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.kind
	}
	return Internal
}

// Is reports whether err has the given kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }

// Text is an error in one line for a person, with its next step.
func Text(err error) string {
	if hint := HintOf(err); hint != "" {
		return err.Error() + " (" + hint + ")"
	}
	return err.Error()
}

// HintOf returns the first next step found in err's tree, in the order of
// errors.Is, or "".
func HintOf(err error) string {
	if e, ok := err.(*Error); ok && e.hint != "" {
		return e.hint
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return HintOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if hint := HintOf(err); hint != "" {
				return hint
			}
		}
	}
	return ""
}
