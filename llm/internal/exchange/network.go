package exchange

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// Failure classifies the error that ended an exchange, from Post or from
// reading the body, considering the caller's context and the watch. partial
// reports that deltas were delivered. An *llm.Error in err is returned
// unchanged.
func (e *Endpoint) Failure(ctx context.Context, w *Watch, err error, partial bool) *llm.Error {
	fail := e.failure(ctx, w, err)
	fail.Partial = partial
	return fail
}

func (e *Endpoint) failure(ctx context.Context, w *Watch, err error) *llm.Error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return e.fail(fault.Timeout, "the caller's deadline passed before the answer was complete", ctx.Err())
	case ctx.Err() != nil:
		return e.fail(fault.Canceled, "the call was canceled", context.Cause(ctx))
	}
	switch cause := context.Cause(w.ctx); {
	case errors.Is(cause, errTotal), errors.Is(cause, errFirst), errors.Is(cause, errChunk), errors.Is(cause, errEmpty):
		f := e.fail(fault.Timeout, cause.Error(), nil)
		f.Retryable = true
		return f
	}
	if known, ok := errors.AsType[*llm.Error](err); ok {
		return known
	}
	if errors.Is(err, errEndless) { // it would not end the next time either
		return e.fail(fault.Unavailable, errEndless.Error(), nil)
	}
	return e.network(err)
}

func (e *Endpoint) fail(kind fault.Kind, msg string, cause error) *llm.Error {
	return llm.NewError(kind, e.Provider, e.Model, msg, cause)
}

// Fail returns an error that must not be retried.
func (e *Endpoint) Fail(kind fault.Kind, msg string) *llm.Error { return e.fail(kind, msg, nil) }

// Truncated is the error of an answer that ended before its final part.
func (e *Endpoint) Truncated(partial bool) *llm.Error {
	f := e.fail(fault.Unavailable, "the answer ended before it was complete", nil)
	f.Code, f.Retryable, f.Partial = llm.CodeTruncated, true, partial
	return f
}

// Empty is the error of an answer with nothing in it.
func (e *Endpoint) Empty() *llm.Error {
	f := e.fail(fault.Unavailable, "the answer was empty", nil)
	f.Code, f.Retryable = llm.CodeEmpty, true
	return f
}

// Malformed is the error of data that violates the protocol.
func (e *Endpoint) Malformed(cause error, partial bool) *llm.Error {
	f := e.fail(fault.Unavailable, "the server sent malformed data", cause)
	f.Retryable, f.Partial = true, partial
	return f
}

// network classifies an error of the connection.
func (e *Endpoint) network(err error) *llm.Error {
	where := "cannot reach " + e.shownURL()
	const check = "check the address (--base-url) and that the server runs"
	if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Kind() == fault.Denied { // package outbound
		f := e.unreached(refused.Error(), nil, fault.HintOf(refused))
		f.Retryable = false
		return f
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return e.unreached(where+": the host name does not resolve", err, check+", or your network connection")
	}
	if isTLS(err) {
		f := e.unreached(where+": the TLS connection could not be made", err, "check that the address (--base-url) has the right scheme, and the server's certificate")
		f.Retryable = false
		return f
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return e.unreached(where+": connection refused", err, check)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		if op.Timeout() {
			f := e.fail(fault.Timeout, where+": no connection in time", scrub(err)).Hint(check)
			f.Retryable, f.Unreached = true, true
			return f
		}
		return e.unreached(where, err, check)
	}
	if u, ok := errors.AsType[*url.Error](err); ok && u.Op == "parse" {
		return e.fail(fault.Invalid, "the base URL is not a URL: "+e.shownURL(), nil).Hint("check the base URL of the model")
	}
	f := e.fail(fault.Unavailable, "the connection to "+e.shownURL()+" broke", scrub(err))
	f.Retryable = true
	return f
}

func (e *Endpoint) unreached(msg string, err error, hint string) *llm.Error {
	f := e.fail(fault.Unavailable, msg, scrub(err)).Hint(hint)
	f.Retryable, f.Unreached = true, true
	return f
}

// scrub removes the URL, which may contain a key, from an error of net/http.
func scrub(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// shownURL is the base URL without user information and query.
func (e *Endpoint) shownURL() string {
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return "the given address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return true
	}
	_, ok := errors.AsType[x509.HostnameError](err)
	return ok
}
