package fault

import "net/http"

// Exit codes of the deft command. They are documented in docs/cli.md and do
// not change.
const (
	ExitOK          = 0
	ExitError       = 1 // anything not named below
	ExitUsage       = 2 // flags or input are wrong
	ExitStuck       = 3 // the agent repeated itself and was stopped
	ExitLimit       = 4 // the iteration or the spending limit was reached
	ExitRefused     = 5 // a permission, a policy, or the provider refused
	ExitUnavailable = 6 // the LLM endpoint or another peer cannot be reached
	ExitStorage     = 7 // stored data is damaged, or there is no space
	ExitInterrupted = 130
)

// ExitCode maps a kind to the exit code of the deft command.
func (k Kind) ExitCode() int {
	switch k {
	case Invalid, NotFound, Conflict:
		return ExitUsage
	case Stuck:
		return ExitStuck
	case Limit:
		return ExitLimit
	case Denied, Auth, Content, Quota:
		return ExitRefused
	case Unavailable, Timeout, RateLimit:
		return ExitUnavailable
	case Corrupt, Full:
		return ExitStorage
	case Canceled, Interrupted:
		return ExitInterrupted
	default:
		return ExitError
	}
}

// HTTPStatus maps a kind to the status of an HTTP answer.
func (k Kind) HTTPStatus() int {
	switch k {
	case Invalid, Context, Content:
		return http.StatusUnprocessableEntity
	case NotFound:
		return http.StatusNotFound
	case Conflict, Stuck:
		return http.StatusConflict
	case Denied:
		return http.StatusForbidden
	case Auth:
		return http.StatusUnauthorized
	case RateLimit:
		return http.StatusTooManyRequests
	case Quota, Limit:
		return http.StatusPaymentRequired
	case Unavailable:
		return http.StatusServiceUnavailable
	case Timeout:
		return http.StatusGatewayTimeout
	case Unsupported:
		return http.StatusNotImplemented
	case Full:
		return http.StatusInsufficientStorage
	default:
		return http.StatusInternalServerError
	}
}
