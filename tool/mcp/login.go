package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/deft-dev/deft/fault"
)

// LoginOptions say how a person logs in. All are required, but Logins.
type LoginOptions struct {
	// Redirect is where the authorization server sends the browser back to.
	Redirect string
	// Visit shows a person the address of the authorization server, and returns the query of
	// the redirect.
	Visit func(ctx context.Context, address string) (url.Values, error)
	// Logins keeps the login under the server's address; nil for nowhere.
	Logins Logins
}

// ErrNoLogin is the error of a server that answers without a login.
var ErrNoLogin = fault.New(fault.Conflict, "the server wants no login")

// LogIn logs in at a remote server by OAuth 2.1, as the protocol's authorization chapter has it:
// resource metadata, registration of the client, authorization code with PKCE. It returns the
// login, as in [Auth].State.
func LogIn(ctx context.Context, s Server, o LoginOptions) (json.RawMessage, error) {
	key, err := LoginKey(s.URL)
	if err != nil {
		return nil, err
	}
	as, err := s.authentication()
	if err != nil {
		return nil, err
	}
	l := login{server: s, as: as, o: o}
	for _, method := range as.methods() {
		err = l.run(ctx, method)
		if _, refused := errors.AsType[*oauthex.ClientRegistrationError](err); !refused {
			break
		}
	}
	if err != nil {
		return nil, l.failed(err)
	}
	l.state.Origin = l.state.mark()
	raw, err := json.Marshal(l.state)
	if err != nil || o.Logins == nil {
		return raw, err
	}
	return raw, o.Logins.ChangeLogin(ctx, key, func(json.RawMessage) (json.RawMessage, error) { return raw, nil })
}

// methods are the ways in which a client that registers itself may authenticate itself: programs
// on people's machines keep no secret, but some servers give out one only.
func (a authentication) methods() []string {
	if a.Method != "" {
		return []string{a.Method}
	}
	return []string{methodNone, methodPost}
}

// login is one login.
type login struct {
	server Server
	as     authentication
	o      LoginOptions

	resource string
	state    oauthState
}

func (l *login) run(ctx context.Context, method string) error {
	g, err := newGuard(l.server)
	if err != nil {
		return err
	}
	defer g.CloseIdleConnections()
	req, err := l.server.firstRequest(ctx)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: g, CheckRedirect: g.redirect}
	resp, err := client.Do(req)
	if err != nil {
		kind := fault.Unavailable
		if fault.Is(err, fault.Denied) { // package outbound, or a redirect
			kind = fault.Denied
		}
		return fault.New(kind, "the server cannot be reached").Because(plainCause(err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode/100 == 2:
		return errors.Join(ErrNoLogin, endSession(client, req, resp))
	case resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden:
		return fault.New(fault.Unavailable, fmt.Sprintf("the server answers %d", resp.StatusCode))
	}
	c, err := l.config(ctx, req.URL, method)
	if err != nil {
		return err
	}
	h, err := auth.NewAuthorizationCodeHandler(c)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "prepare the login")
	}
	if err := h.Authorize(ctx, req, resp); err != nil {
		return err
	}
	if l.state.Tokens.Access == "" {
		return fault.New(fault.Unavailable, "the server asks for no login by OAuth")
	}
	return nil
}

// endSession ends the session that a server has begun with the first request.
func endSession(client *http.Client, req *http.Request, resp *http.Response) error {
	const name = "Mcp-Session-Id"
	id := resp.Header.Get(name)
	if id == "" {
		return nil
	}
	end, err := http.NewRequestWithContext(req.Context(), http.MethodDelete, req.URL.String(), nil)
	if err != nil {
		return err
	}
	end.Header.Set(name, id)
	ended, err := client.Do(end)
	if err != nil {
		return plainCause(err)
	}
	return ended.Body.Close()
}

// firstRequest is a request that a server with logins refuses.
func (s Server) firstRequest(ctx context.Context) (*http.Request, error) {
	method, body := http.MethodPost, io.Reader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+
		firstVersion+`","capabilities":{},"clientInfo":{"name":"deft","version":"1"}}}`))
	if s.transport() == SSE {
		method, body = http.MethodGet, nil
	}
	r, err := http.NewRequestWithContext(ctx, method, s.URL, body)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the URL cannot be read")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// config configures the flow of the SDK.
func (l *login) config(ctx context.Context, server *url.URL, method string) (*auth.AuthorizationCodeHandlerConfig, error) {
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: l.o.Redirect, AuthorizationCodeFetcher: l.visit, RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		Client: authClient(ctx, server), NewTokenSource: l.take,
	}
	if len(l.as.Scopes) > 0 {
		c.ScopeFilter = func([]string) []string { return l.as.Scopes }
	}
	if l.as.Document != "" {
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: l.as.Document}
	}
	if l.as.ID != "" {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: l.as.ID}
		if l.as.Secret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: l.as.Secret}
		}
		return c, nil
	}
	meta := &oauthex.ClientRegistrationMetadata{}
	if len(l.as.More) > 0 && json.Unmarshal(l.as.More, meta) != nil {
		return nil, fault.New(fault.Invalid, "auth.authentication.additional_client_metadata cannot be read")
	}
	meta.ClientName, meta.RedirectURIs, meta.TokenEndpointAuthMethod = l.as.Name, []string{l.o.Redirect}, method
	meta.GrantTypes, meta.ResponseTypes = []string{"authorization_code", "refresh_token"}, []string{"code"}
	meta.Scope = cmp.Or(strings.Join(l.as.Scopes, " "), meta.Scope)
	c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: meta}
	return c, nil
}

// visit has the person log in.
func (l *login) visit(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(args.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fault.New(fault.Invalid, "the address of the login page is not one of the web")
	}
	l.resource = u.Query().Get("resource")
	answer, err := l.o.Visit(ctx, args.URL)
	if err != nil {
		return nil, err
	}
	if why := answer.Get("error"); why != "" {
		return nil, fault.New(fault.Denied, "the login was refused: "+describe(strings.TrimSpace(why+" "+answer.Get("error_description")), 300))
	}
	if answer.Get("code") == "" {
		return nil, fault.New(fault.Invalid, "the redirect has no code")
	}
	return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: answer.Get("iss")}, nil
}

// take takes the tokens over.
func (l *login) take(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
	if !strings.EqualFold(t.Type(), "Bearer") {
		return nil, fault.New(fault.Unsupported, "the authorization server gives tokens of the type "+describe(t.Type(), 50))
	}
	method := methodPost
	switch {
	case c.ClientSecret == "":
		method = methodNone
	case c.Endpoint.AuthStyle == oauth2.AuthStyleInHeader || c.Endpoint.AuthStyle == oauth2.AuthStyleAutoDetect:
		method = methodBasic
	}
	scope, _ := t.Extra("scope").(string)
	l.state = oauthState{
		Tokens: oauthTokens{Access: t.AccessToken, Refresh: t.RefreshToken, Type: "Bearer", Scope: scope},
		Client: oauthClient{ID: c.ClientID, Secret: c.ClientSecret, Method: method, TokenURL: c.Endpoint.TokenURL, Resource: l.resource},
	}
	if !t.Expiry.IsZero() {
		l.state.ExpiresAt = float64(t.Expiry.Unix())
	}
	return oauth2.StaticTokenSource(t), nil
}

// failed returns an error that shows no secret: messages of the SDK may repeat answers.
func (l *login) failed(err error) error {
	kind := fault.Unavailable
	if _, own := errors.AsType[*fault.Error](err); own {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		kind = fault.Timeout
	}
	text := l.server.conceal(plainCause(err).Error())
	for _, s := range l.state.secrets() {
		if s != "" {
			text = strings.ReplaceAll(text, s, concealed)
		}
	}
	return fault.New(kind, "the login has failed: "+describe(text, 500))
}
