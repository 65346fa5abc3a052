package settings

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
)

var tokensBody = &schema.Object{Fields: []schema.Field{
	{Name: "mcp_config", Type: schema.Opt(mcpConfig)},
	{Name: "provider_tokens", Type: schema.Dict{Of: &schema.Object{Fields: []schema.Field{
		{Name: "token", Type: schema.Opt(schema.String{Max: 16 << 10, Valid: oneWord})},
		{Name: "user_id", Type: schema.Opt(schema.String{Max: 256})},
		{Name: "host", Type: schema.Opt(schema.String{Max: 256, Valid: gitHost})},
		{Name: "refresh_token", Type: schema.Opt(schema.String{Max: 16 << 10, Valid: oneWord})}, // ours
		{Name: "expires_at", Type: schema.Opt(schema.Int{})},
	}}}, Default: func() any { return schema.NewMap() }},
}}

func oneWord(s string) error {
	if strings.ContainsAny(strings.TrimSpace(s), " \t\r\n\x00") {
		return errInvalid("a token has no white space")
	}
	return nil
}

// gitHost takes the name of a host, with a port, or the base URL of a Git host.
func gitHost(s string) error {
	text := s
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if s != "" && (err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http") {
		return errInvalid("the host must be a name such as git.example.com, or an http(s) URL without a password")
	}
	return nil
}

// renewable reads the parameters of a token's renewal.
func (u user) renewable(provider string, one *schema.Map, t *settings.ProviderToken) error {
	var r struct {
		RefreshToken string `json:"refresh_token"`
		Expires      int64  `json:"expires_at"`
	}
	if err := schema.Into(one, &r); err != nil {
		return err
	}
	at := []any{"body", "provider_tokens", provider, "refresh_token"}
	switch t.RefreshToken, t.Expires = llm.Secret(strings.TrimSpace(r.RefreshToken)), r.Expires; {
	case t.RefreshToken == "" && t.Expires == 0:
		return nil
	case t.Token == "":
		return schema.Invalid("a refresh token comes with its token", nil, at...)
	case t.RefreshToken != "" && t.Expires <= 0:
		return schema.Invalid("a refresh token comes with expires_at, in seconds since 1970", nil, at...)
	case t.RefreshToken == "" || u.s.o.Tokens == nil:
		return nil
	}
	if err := u.s.o.Tokens.CanRenew(provider, t.Host); err != nil {
		return schema.Invalid(fault.Text(err), nil, at...)
	}
	return nil
}

// setTokens replaces the user's tokens of Git hosts. An empty one keeps the stored token.
func (u user) setTokens(r *http.Request) (any, error) {
	body, err := rest.BodyAs(r, tokensBody)
	if err != nil {
		return nil, err
	}
	sent, tokens := body.Object("provider_tokens"), map[string]settings.ProviderToken{}
	for _, provider := range sent.Keys() {
		if !slices.Contains(settings.GitProviders, provider) {
			return nil, schema.Invalid("unknown Git provider", provider, "body", "provider_tokens", provider)
		}
		one := sent.Object(provider)
		t := settings.ProviderToken{
			Token: llm.Secret(strings.TrimSpace(one.Text("token"))), UserID: one.Text("user_id"), Host: strings.TrimSpace(one.Text("host")),
		}
		if t.Token == schema.Mask {
			t.Token = ""
		}
		if err := u.renewable(provider, one, &t); err != nil {
			return nil, err
		}
		if t.Token != "" && u.s.o.Tokens != nil {
			id, err := u.s.o.Tokens.CheckToken(r.Context(), provider, t)
			if fault.Is(err, fault.Auth) {
				return nil, rest.Fail(http.StatusUnauthorized, "Invalid token. Please make sure it is a valid "+provider+" token.")
			}
			if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Timeout) || fault.Is(err, fault.Unsupported) {
				return nil, rest.Fail(http.StatusUnprocessableEntity, "The "+provider+" token cannot be checked: "+rest.Text(err))
			}
			if err != nil {
				return nil, err
			}
			if id != "" {
				t.UserID = id
			}
		}
		tokens[provider] = t
	}
	if servers := replacedServers(body.Object("mcp_config")); servers != nil {
		if _, err := u.Update(r.Context(), settings.Diff{Servers: servers}); err != nil {
			return nil, err
		}
	}
	return message{"Git providers stored"}, u.SetProviderTokens(r.Context(), tokens)
}

func (u user) unsetTokens(r *http.Request) (any, error) {
	return message{"Unset Git provider tokens"}, u.SetProviderTokens(r.Context(), nil)
}
