package identity

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Person is a person as an identity provider describes her.
type Person struct {
	// Issuer and Subject are the one stable name of the person: two people may have one e-mail
	// address, at one issuer or at two.
	Issuer, Subject string
	// Email is only the person's if EmailVerified is set: the provider says that it has proved it.
	Email         string
	EmailVerified bool
	// Name is for people.
	Name   string
	Groups []string
	// Session is the provider's name of the session in which the person signed in; "" for none.
	Session string
}

// Flow is one sign-in, between its start and the answer of the provider. All parts are random.
type Flow struct {
	// State comes back with the answer, Nonce in the proof. Verifier proves that whoever
	// takes the proof began the flow (RFC 7636).
	State, Nonce, Verifier string
	// Redirect is the address at this server to which the provider sends the browser.
	Redirect string
}

// Ended is a provider's message that sessions have ended: one, or all of a person.
type Ended struct{ Issuer, Subject, Session string }

// Provider is an identity provider. Its methods may be called by several goroutines.
type Provider interface {
	// Issuer returns the provider's address, which is part of its people's names.
	Issuer() string
	// Begin returns the address at which a person proves who she is. Unavailable if the
	// provider does not answer.
	Begin(ctx context.Context, f Flow) (string, error)
	// Finish takes the parameters with which the browser came back. Denied if the provider or
	// the person refused, Auth for an answer that proves nothing, Unavailable if the
	// provider does not answer.
	Finish(ctx context.Context, f Flow, answer url.Values) (Person, error)
	// Ended reads a message that sessions have ended (OpenID Connect Back-Channel Logout 1.0).
	// Auth for a message that is not the provider's.
	Ended(ctx context.Context, token string) (Ended, error)
}

// Admission says which people of a provider may use a server. A person needs one of the
// groups and one of the domains or users, where there are any. The zero value admits everybody.
type Admission struct {
	// Domains are of e-mail addresses, Users whole addresses; they hold for addresses that the
	// provider has proved.
	Domains, Users []string
	Groups         []string
}

// Admits returns nil for a person who may use the server, else an error of kind Denied.
func (a Admission) Admits(p Person) error {
	if len(a.Groups) > 0 && !slices.ContainsFunc(p.Groups, func(g string) bool { return slices.Contains(a.Groups, strings.TrimPrefix(g, "/")) }) {
		return fault.New(fault.Denied, "the account is in no group that may use this server")
	}
	if len(a.Domains)+len(a.Users) == 0 {
		return nil
	}
	if !p.EmailVerified {
		return fault.New(fault.Denied, "the provider has not verified the account's e-mail address")
	}
	_, domain, _ := strings.Cut(p.Email, "@")
	same := func(all []string, one string) bool {
		return one != "" && slices.ContainsFunc(all, func(s string) bool { return strings.EqualFold(s, one) })
	}
	if !same(a.Domains, domain) && !same(a.Users, p.Email) {
		return fault.New(fault.Denied, "the account's e-mail address may not use this server")
	}
	return nil
}
