// Package identity says who sends a request: the owner of a laptop's App Server,
// a program with an API key, or a client that has the session key of one sandbox.
//
// # Usage
//
// The server authenticates a request once, before any route sees it:
//
//	caller, err := auth.Authenticate(r)
//	r = r.WithContext(identity.With(r.Context(), caller))
//
// and a route asks for it:
//
//	owner := identity.CallerOf(r.Context()).Owner
//
// [UserAuth] is the only interface that answers the question. [Local] implements it
// for a server whose users are those of its own records.
//
// # Concurrency
//
// Everything is safe for concurrent use.
//
// # Failure
//
// A request without valid credentials is an error of kind Auth. Records that cannot
// be read are an error of their own kind, never a refusal.
package identity

import (
	"context"
	"net/http"
)

// Tenant owns rows: conversations, settings, secrets and files. It is a user of its own
// or an organization. It is stored with each row, and rows are found by it.
type Tenant string

// LocalTenant owns the rows of a program that has one user.
const LocalTenant Tenant = "local"

// Method is how a caller proved who it is.
type Method string

// The methods.
const (
	Cookie     Method = "cookie"  // a person who signed in with a browser
	APIKey     Method = "api_key" // a program
	SessionKey Method = "session_key"
)

// Caller is who sends a request. Its zero value is nobody.
type Caller struct {
	// Owner is whose conversations, settings and secrets the request is about.
	Owner  Tenant
	Method Method
	// Sandbox is the only sandbox that the caller may use, for SessionKey; empty
	// for all of the owner's.
	Sandbox string
	// Credential identifies the API key or the browser's session.
	Credential string
}

// UserAuth says who sends requests.
type UserAuth interface {
	// Authenticate returns who sends a request. Auth if the request has no
	// credentials, or wrong ones.
	Authenticate(r *http.Request) (Caller, error)
}

type contextKey struct{}

// With returns a context whose requests are the caller's.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// CallerOf returns the caller of a request's context, the zero Caller if it was
// not authenticated.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(contextKey{}).(Caller)
	return c
}
