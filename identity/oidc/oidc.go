// Package oidc has people prove who they are at an OpenID Connect provider: Keycloak, Gitea,
// Google, Entra and others.
//
// # Usage
//
//	p := oidc.New(oidc.Options{Issuer: "https://id.example.com/realms/work", ClientID: "deft", Secret: "…"})
//	address, err := p.Begin(ctx, flow)          // the browser goes there
//	person, err := p.Finish(ctx, flow, answer)  // and comes back with an answer
//
// # Concurrency
//
// A Provider is safe for concurrent use. Its description is read at the first use, and once only
// however many ask.
//
// # Failure
//
// Nothing is read when it is made: a provider that is away is Unavailable to the sign-ins of that time,
// and asked again at the next one. Errors never have a code, a token or the client's secret.
package oidc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
)

const (
	// timeout bounds a request to the provider: a browser waits for it.
	timeout = 10 * time.Second
	// skew is how far the clocks of the provider and of this machine may differ.
	skew = time.Minute
	// mostBytes bounds an answer of the provider; its keys and an ID token with thousands of groups are smaller.
	mostBytes = 4 << 20
	// mostGroups bounds the groups of a person that are looked at.
	mostGroups = 20_000
)

// algorithms sign proofs. Those with a shared secret, and none, are refused whatever a provider offers.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// Options configure a Provider.
type Options struct {
	// Issuer is the provider's address, exactly as its description has it.
	Issuer string
	// ClientID and Secret are of the client that the operator has registered there. A public
	// client has no secret.
	ClientID, Secret string
	// Scopes are asked for beside openid.
	Scopes []string
	// GroupsClaim names the claim with the person's groups; "groups" if it is empty.
	GroupsClaim string
	// Transport sends the requests; nil for the usual one.
	Transport http.RoundTripper
}

// Provider implements [identity.Provider].
type Provider struct {
	o      Options
	client *http.Client

	reads singleflight.Group
	found atomic.Pointer[description]
}

// description is a provider's description of itself.
type description struct {
	verifier *oidc.IDTokenVerifier
	config   oauth2.Config
	// namesItself says that answers carry the issuer (RFC 9207).
	namesItself bool
}

var _ identity.Provider = (*Provider)(nil)

// New returns a provider, which is not asked for anything yet.
func New(o Options) *Provider {
	o.GroupsClaim = cmp.Or(o.GroupsClaim, "groups")
	transport := o.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &Provider{o: o, client: &http.Client{Timeout: timeout, Transport: bounded{transport}}}
}

// bounded bounds the answers of a provider, which go-oidc reads whole.
type bounded struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, mostBytes), resp.Body}
	}
	return resp, err
}

// Issuer implements [identity.Provider].
func (p *Provider) Issuer() string { return p.o.Issuer }

// Check reads the provider's description. Unavailable, with the mistake, if it cannot be used.
func (p *Provider) Check(ctx context.Context) error {
	_, err := p.describe(ctx)
	return err
}

// describe returns the provider's description.
func (p *Provider) describe(ctx context.Context) (*description, error) {
	if d := p.found.Load(); d != nil {
		return d, nil
	}
	read := p.reads.DoChan("", func() (any, error) { return p.read(oidc.ClientContext(context.WithoutCancel(ctx), p.client)) })
	select {
	case r := <-read:
		d, _ := r.Val.(*description)
		return d, r.Err
	case <-ctx.Done():
		return nil, fault.Wrap(ctx.Err(), fault.Canceled, "ask the identity provider")
	}
}

// read reads the description. The provider's keys are read later, with the same context.
func (p *Provider) read(ctx context.Context) (*description, error) {
	provider, err := oidc.NewProvider(ctx, p.o.Issuer)
	if err != nil {
		return nil, p.undescribed(err)
	}
	var more struct {
		NamesItself bool `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, p.undescribed(err)
	}
	d := &description{
		verifier: provider.VerifierContext(ctx, &oidc.Config{
			ClientID: p.o.ClientID, SupportedSigningAlgs: algorithms,
			Now: func() time.Time { return time.Now().Add(-skew) },
		}),
		config: oauth2.Config{
			ClientID: p.o.ClientID, ClientSecret: p.o.Secret, Endpoint: provider.Endpoint(),
			Scopes: append([]string{oidc.ScopeOpenID}, slices.DeleteFunc(slices.Clone(p.o.Scopes), func(s string) bool { return s == oidc.ScopeOpenID })...),
		},
		namesItself: more.NamesItself,
	}
	p.found.Store(d)
	return d, nil
}

// undescribed words why there is no description.
func (p *Provider) undescribed(err error) error {
	if other, ok := errors.AsType[*oidc.IssuerMismatchError](err); ok {
		return fault.New(fault.Unavailable, "the identity provider at "+p.o.Issuer+" calls itself "+other.Discovered).
			Hint("write auth.issuer exactly so, with or without a last slash")
	}
	e := fault.New(fault.Unavailable, "the identity provider at "+p.o.Issuer+" does not answer as it should").
		Hint("look whether " + p.o.Issuer + "/.well-known/openid-configuration can be opened from this machine")
	if _, ok := errors.AsType[*url.Error](err); ok {
		e = e.Because(err)
	}
	return e
}

// Begin implements [identity.Provider].
func (p *Provider) Begin(ctx context.Context, f identity.Flow) (string, error) {
	d, err := p.describe(ctx)
	if err != nil {
		return "", err
	}
	config := d.config
	config.RedirectURL = f.Redirect
	return config.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), nil
}

// Finish implements [identity.Provider].
func (p *Provider) Finish(ctx context.Context, f identity.Flow, answer url.Values) (identity.Person, error) {
	var none identity.Person
	d, err := p.describe(ctx)
	if err != nil {
		return none, err
	}
	if iss := answer.Get("iss"); iss != "" && iss != p.o.Issuer || iss == "" && d.namesItself {
		return none, fault.New(fault.Auth, "the answer is not of this identity provider")
	}
	if answer.Get("error") != "" { // its words are a stranger's
		return none, fault.New(fault.Denied, "the identity provider has not signed you in")
	}
	code := answer.Get("code")
	if code == "" {
		return none, fault.New(fault.Auth, "the answer of the identity provider has no code")
	}
	config := d.config
	config.RedirectURL = f.Redirect
	token, err := config.Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return none, p.refused(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return none, fault.New(fault.Auth, "the identity provider has sent no proof of who you are").Hint("its client needs the scope openid")
	}
	proof, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return none, unproved(err)
	}
	if proof.Nonce != f.Nonce {
		return none, fault.New(fault.Auth, "the proof is of another sign-in")
	}
	if proof.AccessTokenHash != "" {
		if err := proof.VerifyAccessToken(token.AccessToken); err != nil {
			return none, fault.New(fault.Auth, "the tokens of the identity provider do not belong together")
		}
	}
	return p.person(proof)
}

// refused words why no token came for a code.
func (p *Provider) refused(err error) error {
	said, ok := errors.AsType[*oauth2.RetrieveError](err) // its text may have tokens
	switch {
	case !ok, said.Response != nil && said.Response.StatusCode >= http.StatusInternalServerError:
		return fault.New(fault.Unavailable, "the identity provider at "+p.o.Issuer+" does not answer")
	case said.ErrorCode == "invalid_client" || said.ErrorCode == "unauthorized_client":
		return fault.New(fault.Unavailable, "the identity provider does not know this server").
			Hint("the administrator of this server looks at auth.client_id and auth.client_secret")
	}
	return fault.New(fault.Auth, "the code of the identity provider is used, or no longer valid")
}

// unproved words why a proof is none. Texts of the library may have parts of the proof.
func unproved(err error) error {
	if late, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return fault.New(fault.Auth, "the proof of the identity provider has expired at "+late.Expiry.UTC().Format(time.RFC3339)).
			Hint("the clocks of this server and of the identity provider may differ")
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return fault.New(fault.Unavailable, "the keys of the identity provider cannot be read")
	}
	return fault.New(fault.Auth, "the proof of the identity provider is not valid")
}

// person reads the claims of a proof.
func (p *Provider) person(proof *oidc.IDToken) (identity.Person, error) {
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"` // some providers send a text
		Name     string `json:"name"`
		Username string `json:"preferred_username"`
		Session  string `json:"sid"`
		Party    string `json:"azp"`
	}
	all := map[string]json.RawMessage{}
	if err := errors.Join(proof.Claims(&claims), proof.Claims(&all)); err != nil {
		return identity.Person{}, fault.New(fault.Auth, "the claims of the identity provider cannot be read")
	}
	// OpenID Connect Core 1.0, 3.1.3.7: a proof that was made for another client is none.
	if proof.Subject == "" || claims.Party != "" && claims.Party != p.o.ClientID || claims.Party == "" && len(proof.Audience) > 1 {
		return identity.Person{}, fault.New(fault.Auth, "the proof of the identity provider is for another program")
	}
	return identity.Person{
		Issuer: proof.Issuer, Subject: proof.Subject, Email: claims.Email, EmailVerified: claims.Verified == true || claims.Verified == "true",
		Name: cmp.Or(claims.Name, claims.Username, claims.Email, proof.Subject), Groups: groups(all[p.o.GroupsClaim]), Session: claims.Session,
	}, nil
}

// groups reads a claim with a list of names, or one name.
func groups(raw json.RawMessage) (out []string) {
	var one string
	switch {
	case raw == nil:
	case json.Unmarshal(raw, &out) == nil:
	case json.Unmarshal(raw, &one) == nil:
		out = []string{one}
	}
	return out[:min(len(out), mostGroups)]
}

// Ended implements [identity.Provider].
func (p *Provider) Ended(ctx context.Context, token string) (identity.Ended, error) {
	d, err := p.describe(ctx)
	if err != nil {
		return identity.Ended{}, err
	}
	said, err := d.verifier.VerifyLogout(ctx, token)
	if err != nil {
		return identity.Ended{}, unproved(err)
	}
	return identity.Ended{Issuer: p.o.Issuer, Subject: said.Subject, Session: said.SessionID}, nil
}
