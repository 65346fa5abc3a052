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
	ExitQuestion    = 8 // the agent waits for an answer, and there is no terminal
	ExitInterrupted = 130
)

// statusCanceled is the status that proxies log when the client has closed the
// connection.
const statusCanceled = 499

// codes maps each kind to the exit code of the command and to the HTTP status.
var codes = map[Kind]struct{ exit, status int }{
	Internal:    {ExitError, http.StatusInternalServerError},
	Invalid:     {ExitUsage, http.StatusUnprocessableEntity},
	NotFound:    {ExitUsage, http.StatusNotFound},
	Gone:        {ExitUsage, http.StatusGone},
	Conflict:    {ExitUsage, http.StatusConflict},
	Denied:      {ExitRefused, http.StatusForbidden},
	Auth:        {ExitRefused, http.StatusUnauthorized},
	RateLimit:   {ExitUnavailable, http.StatusTooManyRequests},
	Quota:       {ExitRefused, http.StatusPaymentRequired},
	Limit:       {ExitLimit, http.StatusPaymentRequired},
	Context:     {ExitError, http.StatusUnprocessableEntity},
	Content:     {ExitRefused, http.StatusUnprocessableEntity},
	Unavailable: {ExitUnavailable, http.StatusServiceUnavailable},
	Timeout:     {ExitUnavailable, http.StatusGatewayTimeout},
	Canceled:    {ExitInterrupted, statusCanceled},
	Interrupted: {ExitInterrupted, http.StatusInternalServerError},
	Corrupt:     {ExitStorage, http.StatusInternalServerError},
	Full:        {ExitStorage, http.StatusInsufficientStorage},
	Stuck:       {ExitStuck, http.StatusConflict},
	Unsupported: {ExitError, http.StatusNotImplemented},
}

// ExitCode maps a kind to the exit code of the deft command. A kind that is
// not one of the constants counts as [Internal].
func (k Kind) ExitCode() int {
	if c, ok := codes[k]; ok {
		return c.exit
	}
	return codes[Internal].exit
}

// HTTPStatus maps a kind to the status of an HTTP answer. A kind that is not
// one of the constants counts as [Internal].
func (k Kind) HTTPStatus() int {
	if c, ok := codes[k]; ok {
		return c.status
	}
	return codes[Internal].status
}
