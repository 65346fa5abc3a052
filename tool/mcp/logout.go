package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/deft-dev/deft/fault"
)

// LogOut removes the owner's login at a remote server, and revokes its tokens where the
// authorization server offers that (RFC 7009); revoked reports whether it does. NotFound if
// there is no login. If the tokens cannot be revoked the login is removed all the same, and the
// error says both.
func LogOut(ctx context.Context, s Server, logins Logins) (revoked bool, err error) {
	key, err := LoginKey(s.URL)
	if err != nil {
		return false, err
	}
	var was json.RawMessage
	if err := logins.ChangeLogin(ctx, key, func(now json.RawMessage) (json.RawMessage, error) {
		was = now
		return nil, nil
	}); err != nil {
		return false, err
	}
	if was == nil {
		return false, fault.New(fault.NotFound, "there is no login at "+key).Hint("deft mcp logins lists them")
	}
	state, err := parseState(was)
	if err != nil {
		return false, err
	}
	revoked, err = state.revoke(ctx, s)
	if err != nil {
		return false, fault.New(fault.Unavailable, "the login is removed here, but not revoked").Because(err).
			Hint("end it on the server's own page")
	}
	return revoked, nil
}

// revoke revokes the refresh token, and with it its access tokens; without one the access token.
func (s oauthState) revoke(ctx context.Context, server Server) (bool, error) {
	at, err := url.Parse(server.URL)
	if err != nil {
		return false, fault.New(fault.Invalid, "the URL cannot be read")
	}
	ctx, cancel := context.WithTimeout(ctx, authTime)
	defer cancel()
	client := authClient(ctx, at)
	meta, _, err := discover(ctx, client, at)
	if err != nil {
		return false, err
	}
	if meta.RevocationEndpoint == "" {
		return false, nil
	}
	form := url.Values{"token": {cmp.Or(s.Tokens.Refresh, s.Tokens.Access)}, "token_type_hint": {"refresh_token"}}
	if s.Tokens.Refresh == "" {
		form.Set("token_type_hint", "access_token")
	}
	resp, err := s.Client.post(ctx, client, meta.RevocationEndpoint, form)
	if err != nil {
		return false, err
	}
	if err := resp.Body.Close(); err != nil {
		return false, err
	}
	if resp.StatusCode != http.StatusOK {
		return false, fault.New(fault.Unavailable, fmt.Sprintf("it answers %d", resp.StatusCode))
	}
	return true, nil
}
