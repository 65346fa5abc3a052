// Package identity says who sends a request: the user of a program that has one, a program
// with an API key, or a client that has the session key of one sandbox.
//
// # Usage
//
// A server authenticates a request once, before any route sees it, and puts the [Caller]
// into the request's context with [With]. A route asks for the owner of rows:
//
//	tenant := identity.CallerOf(r.Context()).Tenant()
//
// # Concurrency
//
// Everything is safe for concurrent use.
//
// # Failure
//
// Nothing fails. A request without a known caller has the zero Caller, who may do nothing.
package identity

import (
	"context"
	"slices"
)

// User is a person, or a program that acts for one.
type User string

// Organization is a group of users that owns rows together.
type Organization string

// Tenant owns rows: conversations, settings, secrets and files. It is a user of its own
// or an organization. It is stored with each row, and rows are found by it.
type Tenant string

// LocalTenant owns the rows of a program that has one user, LocalUser.
const (
	LocalUser   User   = "local"
	LocalTenant Tenant = Tenant(LocalUser)
)

// Method is how a caller proved who it is.
type Method string

// The methods.
const (
	Cookie     Method = "cookie"  // a person who signed in with a browser
	APIKey     Method = "api_key" // a program
	SessionKey Method = "session_key"
)

// Role is a user's role in the caller's organization, or on a server without any.
type Role string

// Owner may do everything with the tenant's rows.
const Owner Role = "owner"

// Scope is a part of a user's rights. A credential grants some of them.
type Scope string

// The scopes.
const (
	// Account is about everything that a tenant has: settings, secrets, keys, sandboxes.
	Account Scope = "account"
	// Sandbox is about one sandbox: its conversations, files and commands.
	Sandbox Scope = "sandbox"
	// Inside is for programs in a sandbox, which report and ask: no user has it.
	Inside Scope = "inside"
)

// Caller is who sends a request. Its zero value is nobody.
type Caller struct {
	User User
	// Organization is for whom the user acts; empty for nobody else.
	Organization Organization
	Roles        []Role
	// Scopes are granted by the credential.
	Scopes []Scope
	Method Method
	// Credential identifies the API key or the browser's session, Sandbox the sandbox of a
	// session key.
	Credential, Sandbox string
}

// Local returns the user of a program that has one.
func Local() Caller {
	return Caller{User: LocalUser, Roles: []Role{Owner}, Scopes: []Scope{Account, Sandbox}}
}

// InSandbox returns a client with the session key of a tenant's sandbox.
func InSandbox(t Tenant, sandbox string) Caller {
	return Caller{User: User(t), Scopes: []Scope{Sandbox, Inside}, Method: SessionKey, Sandbox: sandbox}
}

// Tenant returns the owner of the rows that a request is about.
func (c Caller) Tenant() Tenant {
	if c.Organization != "" {
		return Tenant(c.Organization)
	}
	return Tenant(c.User)
}

// May reports whether the caller's credential grants a scope.
func (c Caller) May(s Scope) bool { return slices.Contains(c.Scopes, s) }

// OfSandbox returns a browser with the session key of a tenant's sandbox that browsers get. It
// has no right of the programs inside.
func OfSandbox(t Tenant, sandbox string) Caller {
	c := InSandbox(t, sandbox)
	c.Scopes = []Scope{Sandbox}
	return c
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
