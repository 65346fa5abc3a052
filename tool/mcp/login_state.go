package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Logins keeps the logins of one owner at remote servers, sealed.
type Logins interface {
	// Login returns the login that is kept under a key, nil if there is none.
	Login(ctx context.Context, key string) (json.RawMessage, error)
	// ChangeLogin replaces a login, nil for none, by the result of change. One call in all
	// processes runs at a time.
	ChangeLogin(ctx context.Context, key string, change func(json.RawMessage) (json.RawMessage, error)) error
}

// LoginKey is the key of the login at a server, which is for its address without the query.
func LoginKey(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fault.New(fault.Invalid, "the address of a server begins with http:// or https://")
	}
	return originOf(u) + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// oauthState is a login, as in [Auth].State: in the form of the reference, with the address of
// the token endpoint and the resource beside the client's registration.
type oauthState struct {
	Tokens oauthTokens `json:"tokens"`
	Client oauthClient `json:"client_info"`
	// ExpiresAt is when the access token expires, in seconds since 1970; 0 if unknown.
	ExpiresAt float64 `json:"token_expires_at,omitempty"`
	// Origin is the mark of the login as it was made, by which a configuration that has it
	// finds it, whatever was renewed since.
	Origin string `json:"origin,omitempty"`
}

type oauthTokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token,omitempty"`
	Type    string `json:"token_type,omitempty"`
	Scope   string `json:"scope,omitempty"`
}

type oauthClient struct {
	ID       string `json:"client_id"`
	Secret   string `json:"client_secret,omitempty"`
	Method   string `json:"token_endpoint_auth_method,omitempty"`
	TokenURL string `json:"token_endpoint,omitempty"`
	Resource string `json:"resource,omitempty"`
}

// The ways of a client to authenticate itself.
const (
	methodNone  = "none"
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
)

func parseState(raw json.RawMessage) (s oauthState, err error) {
	if len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		return s, fault.New(fault.Invalid, "the state of the OAuth login cannot be read")
	}
	return s, nil
}

// secrets are the values of a login that nothing may show.
func (s oauthState) secrets() []string {
	return []string{s.Tokens.Access, s.Tokens.Refresh, s.Client.Secret}
}

// mark tells logins apart and holds no secret.
func (s oauthState) mark() string {
	sum := sha256.Sum256([]byte(s.Tokens.Access + "\n" + s.Tokens.Refresh))
	return hex.EncodeToString(sum[:8])
}

// early is how long before its end an access token is not used any more.
const early = 10 * time.Second

// usable returns the access token if it has not expired and is not the one that a server has
// refused.
func (s oauthState) usable(refused string) string {
	if s.Tokens.Access == refused || s.ExpiresAt > 0 && float64(time.Now().Add(early).Unix()) >= s.ExpiresAt {
		return ""
	}
	return s.Tokens.Access
}

// errLogin is the error of a server that wants a login which nobody has made, or which has ended.
var errLogin = fault.New(fault.Auth, "it wants a login")

// tokens are the access tokens of one server, one after another.
type tokens struct {
	server Server
	logins Logins // nil where they are kept in memory only
	track  func(values ...string)
	key    string
	seeded bool // it began with the state of the configuration

	busy  chan struct{} // holds one; taken while state is looked at
	state oauthState
}

// tokens returns the server's tokens, nil if it has no login. A server without any other
// credentials has the owner's login at its address.
func (s Server) tokens(ctx context.Context, logins Logins, track func(values ...string)) (*tokens, error) {
	wanted := s.Auth != nil && s.Auth.Strategy == AuthOAuth2
	if !wanted && (logins == nil || !s.anonymous()) {
		return nil, nil //nolint:nilnil // it has other credentials
	}
	t := &tokens{server: s, logins: logins, track: track, busy: make(chan struct{}, 1)}
	var err error
	if t.key, err = LoginKey(s.URL); err != nil {
		return nil, err
	}
	if wanted {
		if t.state, err = parseState(s.Auth.State); err != nil {
			return nil, err
		}
	}
	t.seeded = t.state.Tokens.Access != "" || t.state.Tokens.Refresh != ""
	if logins == nil {
		return t.unlessEmpty(), nil
	}
	kept, err := keptLogin(ctx, logins, t.key)
	if mark := t.state.mark(); err == nil && t.seeded && (kept == nil || kept.Origin != mark) {
		// A login that was made elsewhere has a place of its own, in which it is renewed.
		t.key += "#" + mark
		kept, err = keptLogin(ctx, logins, t.key)
	}
	if err != nil {
		return nil, err
	}
	if kept != nil {
		t.state = *kept
	}
	return t.unlessEmpty(), nil
}

// keptLogin returns a login, nil if there is none.
func keptLogin(ctx context.Context, logins Logins, key string) (*oauthState, error) {
	raw, err := logins.Login(ctx, key)
	if err != nil || raw == nil {
		return nil, err
	}
	s, err := parseState(raw)
	return &s, err
}

func (t *tokens) unlessEmpty() *tokens {
	if t.state.Tokens.Access == "" && t.state.Tokens.Refresh == "" {
		return nil
	}
	t.track(t.state.secrets()...)
	return t
}

// anonymous reports whether requests to the server have no credentials of the configuration.
func (s Server) anonymous() bool {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	return s.Auth == nil || s.Auth.Strategy == AuthNone
}

// access returns an access token that is not the refused one. It is renewed if it has to be,
// even if ctx ends meanwhile: many servers take a refresh token once.
func (t *tokens) access(ctx context.Context, refused string) (string, error) {
	select {
	case t.busy <- struct{}{}:
		defer func() { <-t.busy }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if token := t.state.usable(refused); token != "" {
		return token, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), authTime)
	defer cancel()
	var err error
	if t.logins == nil {
		t.state, err = t.state.renewed(ctx, t.server)
		t.track(t.state.secrets()...)
		return t.state.Tokens.Access, err
	}
	err = t.logins.ChangeLogin(ctx, t.key, func(raw json.RawMessage) (json.RawMessage, error) {
		now := t.state
		var err error
		switch {
		case raw != nil:
			now, err = parseState(raw)
		case !t.seeded:
			return nil, errLogin // it was removed
		}
		if err == nil && now.usable(refused) == "" { // no other process has renewed it
			now, err = now.renewed(ctx, t.server)
		}
		if err != nil {
			return nil, err
		}
		t.state = now
		t.track(now.secrets()...)
		return json.Marshal(now)
	})
	return t.state.Tokens.Access, err
}

// authentication is the registration of a client in [Auth].Authentication.
type authentication struct {
	Method   string          `json:"client_auth_method"`
	Scopes   scopes          `json:"scopes"`
	Name     string          `json:"client_name"`
	Document string          `json:"client_metadata_url"`
	ID       string          `json:"client_id"`
	Secret   string          `json:"client_secret"`
	More     json.RawMessage `json:"additional_client_metadata"`
}

// scopes are a list, or words in one text.
type scopes []string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *scopes) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*s = strings.Fields(text)
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(s))
}

func (s Server) authentication() (a authentication, err error) {
	if s.Auth != nil && len(s.Auth.Authentication) > 0 && json.Unmarshal(s.Auth.Authentication, &a) != nil {
		return a, fault.New(fault.Invalid, "auth.authentication cannot be read")
	}
	if a.Method == "private_key_jwt" {
		return a, fault.New(fault.Unsupported, "Deft does not authenticate itself by private_key_jwt").Hint("register the client with a secret, or without one")
	}
	a.Name = cmp.Or(a.Name, "Deft")
	return a, nil
}
