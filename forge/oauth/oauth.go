// Package oauth renews the OAuth tokens of Git hosts by the applications that the operator has
// registered there: GitHub (user tokens of a GitHub App), GitLab and Bitbucket.
//
// # Usage
//
//	r, err := oauth.New(map[forge.Provider]oauth.App{forge.GitLab: {ID: "…", Secret: "…"}})
//	renewed, err := r.Renew(ctx, forge.Account{Provider: forge.GitLab}, refresh)
//
// The secret of an application goes to its TokenURL only, whose host must be the
// token's.
//
// # Concurrency and failure
//
// A Renewer is safe for concurrent use. A host that does not answer is Unavailable.
package oauth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/llm"
)

// timeout bounds a request. A lock is held meanwhile.
const timeout = 8 * time.Second

// App is an application that the operator has registered at a Git host.
type App struct {
	ID     string
	Secret llm.Secret
	// TokenURL is where tokens are renewed; "" for the provider's.
	TokenURL string
}

// endpoints are the providers' documented endpoints:
// https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/refreshing-user-access-tokens,
// https://docs.gitlab.com/api/oauth2/, https://support.atlassian.com/bitbucket-cloud/docs/use-oauth-on-bitbucket-cloud/.
var endpoints = map[forge.Provider]oauth2.Endpoint{
	forge.GitHub:    {TokenURL: "https://github.com/login/oauth/access_token", AuthStyle: oauth2.AuthStyleInParams},
	forge.GitLab:    {TokenURL: "https://gitlab.com/oauth/token", AuthStyle: oauth2.AuthStyleInParams},
	forge.Bitbucket: {TokenURL: "https://bitbucket.org/site/oauth2/access_token", AuthStyle: oauth2.AuthStyleInHeader},
}

// Renewer implements [forge.Renewer].
type Renewer struct {
	apps   map[forge.Provider]client
	client *http.Client
}

// client is an application, and the host of the tokens that it renews.
type client struct {
	config oauth2.Config
	host   string // in lower case
}

var _ forge.Renewer = (*Renewer)(nil)

// New returns a renewer. An application without an id is left out; any other mistake in
// one is Invalid.
func New(apps map[forge.Provider]App) (*Renewer, error) {
	r := &Renewer{apps: map[forge.Provider]client{}, client: &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for provider, a := range apps {
		if a.ID == "" {
			continue
		}
		at, ok := endpoints[provider]
		if !ok {
			return nil, fault.New(fault.Invalid, "tokens of "+string(provider)+" cannot be renewed")
		}
		at.TokenURL = cmp.Or(a.TokenURL, at.TokenURL)
		u, err := url.Parse(at.TokenURL)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fault.New(fault.Invalid, "the address at which tokens of "+string(provider)+" are renewed is no http(s) URL")
		}
		r.apps[provider] = client{oauth2.Config{ClientID: a.ID, ClientSecret: a.Secret.Reveal(), Endpoint: at}, strings.ToLower(u.Host)}
	}
	return r, nil
}

// CanRenew implements [forge.Renewer].
func (r *Renewer) CanRenew(a forge.Account) error {
	c, ok := r.apps[a.Provider]
	if _, renewable := endpoints[a.Provider]; !renewable {
		return fault.New(fault.Unsupported, "tokens of "+string(a.Provider)+" cannot be renewed").Hint("leave out refresh_token and expires_at")
	}
	if !ok {
		return fault.New(fault.Unsupported, "tokens of "+string(a.Provider)+" are not renewed here").
			Hint("the operator can set git." + string(a.Provider) + "_client_id and git." + string(a.Provider) + "_client_secret")
	}
	host := a.Host
	if host == "" {
		host = endpoints[a.Provider].TokenURL
	}
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	if u, err := url.Parse(host); err != nil || strings.ToLower(u.Host) != c.host {
		return fault.New(fault.Unsupported, "only tokens of "+c.host+" are renewed here")
	}
	return nil
}

// refusals are the errors by which hosts refuse a refresh token (RFC 6749 section 5.2, and
// GitHub's own).
var refusals = map[string]bool{"invalid_grant": true, "bad_refresh_token": true, "unauthorized_client": true}

// Renew implements [forge.Renewer].
func (r *Renewer) Renew(ctx context.Context, a forge.Account, refresh llm.Secret) (forge.Renewed, error) {
	if err := r.CanRenew(a); err != nil {
		return forge.Renewed{}, err
	}
	c := r.apps[a.Provider]
	ctx = context.WithValue(ctx, oauth2.HTTPClient, r.client)
	t, err := c.config.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh.Reveal()}).Token()
	if said, ok := errors.AsType[*oauth2.RetrieveError](err); ok { // its text may have tokens
		if refusals[said.ErrorCode] {
			return forge.Renewed{}, fault.New(fault.Auth, c.host+" does not renew the token any more").
				Hint("sign in at " + string(a.Provider) + " again, and store the new token in the settings")
		}
		status := ""
		if said.Response != nil {
			status = said.Response.Status
		}
		return forge.Renewed{}, fault.New(fault.Unavailable, strings.TrimSpace(c.host+" has not renewed the token: "+status+" "+said.ErrorCode))
	}
	if err != nil {
		return forge.Renewed{}, fault.New(fault.Unavailable, c.host+" has not renewed the token: it does not answer as it should")
	}
	return forge.Renewed{Token: llm.Secret(t.AccessToken), RefreshToken: llm.Secret(t.RefreshToken), Expires: t.Expiry}, nil
}
