package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/addresses"
	"github.com/deft-dev/deft/internal/outbound"
)

// authTime bounds a request to an authorization server.
const authTime = 30 * time.Second

// maxAuthAnswer bounds an answer of an authorization server, in bytes.
const maxAuthAnswer = 1 << 20

// authClient is the client for the addresses that a server names in the course of a login. They
// must not lead a public server's requests to this machine or into its network; on a server for
// others package outbound decides alone.
func authClient(ctx context.Context, server *url.URL) *http.Client {
	dialer := net.Dialer{Timeout: connectTime}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: server})
	if err == nil && proxy == nil && !outbound.Restricted() && !internal(ctx, server.Hostname()) {
		dialer.Control = public
	}
	route := outbound.NewRoute(dialer)
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.Proxy, base.DialContext, base.DisableKeepAlives = route.Proxy, route.Dial, true
	return &http.Client{Transport: base, Timeout: authTime, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= maxRedirects || r.Method != http.MethodGet || originOf(r.URL) != originOf(via[0].URL) {
			return fault.New(fault.Denied, "a redirect to "+describe(originOf(r.URL), 200)+" is not followed")
		}
		return nil
	}}
}

// internal reports whether a host has an address that is not public.
func internal(ctx context.Context, host string) bool {
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	own, ownErr := addresses.Own()
	if err != nil || ownErr != nil {
		return false
	}
	for _, a := range all {
		if reach, _ := addresses.Classify(a.Unmap(), own); reach != addresses.Public {
			return true
		}
	}
	return false
}

// public refuses connections to addresses that are not public.
func public(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	own, err := addresses.Own()
	if err != nil {
		return err
	}
	if reach, what := addresses.Classify(at.Addr().Unmap(), own); reach != addresses.Public {
		return fault.New(fault.Denied, "a public server refers to "+at.Addr().String()+", "+what)
	}
	return nil
}

// renewed returns the login with another access token.
func (s oauthState) renewed(ctx context.Context, server Server) (oauthState, error) {
	if s.Tokens.Refresh == "" {
		return s, errLogin
	}
	at, err := url.Parse(server.URL)
	if err != nil {
		return s, fault.New(fault.Invalid, "the URL cannot be read")
	}
	client := authClient(ctx, at)
	if s.Client.TokenURL == "" { // the login was made by another program
		meta, resource, err := discover(ctx, client, at)
		if err != nil {
			return s, fmt.Errorf("the login cannot be renewed: %w", err)
		}
		s.Client.TokenURL, s.Client.Resource = meta.TokenEndpoint, resource
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {s.Tokens.Refresh}}
	if s.Client.Resource != "" {
		form.Set("resource", s.Client.Resource)
	}
	resp, err := s.Client.post(ctx, client, s.Client.TokenURL, form)
	if err != nil {
		return s, fault.New(fault.Unavailable, "the login cannot be renewed").Because(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAuthAnswer))
	if err != nil {
		return s, fault.Wrap(err, fault.Unavailable, "renew the login")
	}
	return s.take(resp.StatusCode, raw)
}

// post sends a form with the client's authentication to an endpoint of the authorization server.
func (c oauthClient) post(ctx context.Context, client *http.Client, address string, form url.Values) (*http.Response, error) {
	basic := c.Secret != "" && c.Method == methodBasic
	if !basic {
		form.Set("client_id", c.ID)
		if c.Secret != "" {
			form.Set("client_secret", c.Secret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fault.New(fault.Invalid, "the address of an endpoint of the authorization server cannot be read")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if basic {
		r.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	}
	resp, err := client.Do(r)
	return resp, plainCause(err)
}

// take takes the answer of a token endpoint over.
func (s oauthState) take(status int, raw []byte) (oauthState, error) {
	var got struct {
		oauthTokens
		Lasts json.Number `json:"expires_in"`
		Error string      `json:"error"`
	}
	err := json.Unmarshal(raw, &got)
	switch {
	case status/100 == 4 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout:
		why := cmp.Or(describe(got.Error, 100), http.StatusText(status))
		return s, fmt.Errorf("the login cannot be renewed (%s): %w", why, errLogin)
	case status != http.StatusOK:
		return s, fault.New(fault.Unavailable, fmt.Sprintf("the login cannot be renewed: the authorization server answers %d", status))
	case err != nil || got.Access == "":
		return s, fault.New(fault.Unavailable, "the login cannot be renewed: the authorization server answers without a token")
	}
	s.Tokens.Access = got.Access
	s.Tokens.Refresh = cmp.Or(got.Refresh, s.Tokens.Refresh)
	s.Tokens.Type, s.Tokens.Scope = cmp.Or(got.Type, s.Tokens.Type), cmp.Or(got.Scope, s.Tokens.Scope)
	s.ExpiresAt = 0
	if seconds, err := got.Lasts.Float64(); err == nil && seconds > 0 {
		s.ExpiresAt = float64(time.Now().Unix()) + seconds
	}
	return s, nil
}

// discover finds the authorization server of a server, and the server's name as a resource (RFC
// 9728, RFC 8414).
func discover(ctx context.Context, client *http.Client, server *url.URL) (meta *oauthex.AuthServerMeta, resource string, err error) {
	own := *server
	own.RawQuery, own.Fragment = "", ""
	issuer := originOf(server)
	for _, place := range []struct{ path, resource string }{
		{"/.well-known/oauth-protected-resource" + strings.TrimRight(own.Path, "/"), own.String()},
		{"/.well-known/oauth-protected-resource", originOf(server)},
	} {
		at := own
		at.Path = place.path
		if m, err := oauthex.GetProtectedResourceMetadata(ctx, at.String(), place.resource, client); err == nil && len(m.AuthorizationServers) > 0 {
			issuer, resource = m.AuthorizationServers[0], m.Resource
			break
		}
	}
	meta, err = auth.GetAuthServerMetadata(ctx, issuer, client)
	switch {
	case err != nil:
		return nil, "", fault.New(fault.Unavailable, "the authorization server cannot be reached").Because(plainCause(err))
	case meta == nil || meta.TokenEndpoint == "":
		return nil, "", fmt.Errorf("its token endpoint cannot be found: %w", errLogin)
	}
	return meta, resource, nil
}

// plainCause returns the cause of a failed request without its address, which may hold a code.
func plainCause(err error) error {
	if in, ok := errors.AsType[*url.Error](err); ok {
		return in.Err
	}
	return err
}
