package settings

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
)

// GitProviders are the Git hosts that tokens may be for, as OpenHands calls them.
var GitProviders = []string{"github", "gitlab", "bitbucket", "bitbucket_data_center", "forgejo", "azure_devops", "enterprise_sso"}

// ProviderToken is a user's token of a Git host.
type ProviderToken struct {
	Token  llm.Secret `json:"token"`
	UserID string     `json:"user_id"` // "" if it is unknown
	Host   string     `json:"host"`    // name or base URL of a host of one's own; "" for the provider's
	// RefreshToken renews a token of OAuth, which expires at Expires, in seconds since 1970;
	// "" and 0 for one that stays as it is.
	RefreshToken llm.Secret `json:"refresh_token"`
	Expires      int64      `json:"expires_at"`
}

// Expired reports whether the token has expired at a time.
func (t ProviderToken) Expired(now time.Time) bool { return t.Expires > 0 && now.Unix() >= t.Expires }

// document is how the token is stored.
func (t ProviderToken) document() *schema.Map {
	m := schema.Of("token", t.Token.Reveal(), "user_id", orNil(t.UserID), "host", orNil(t.Host))
	if t.RefreshToken != "" {
		m.Set("refresh_token", t.RefreshToken.Reveal())
	}
	if t.Expires > 0 {
		m.Set("expires_at", schema.Count(int(t.Expires)))
	}
	return m
}

const providerTokens = "provider_tokens"

var tokenSchema = &schema.Object{Fields: []schema.Field{
	{Name: "token", Type: schema.Opt(schema.Secret{})},
	{Name: "user_id", Type: schema.Opt(schema.String{})},
	{Name: "host", Type: schema.Opt(schema.String{})},
	{Name: "refresh_token", Type: schema.Opt(schema.Secret{})},
	{Name: "expires_at", Type: schema.Opt(schema.Int{})},
}, Compact: true}

// ProviderTokens returns the user's tokens by provider. A token that no key opens is
// [schema.ErrSealed].
func (s *Service) ProviderTokens(context.Context) (map[string]ProviderToken, error) {
	m, err := s.readable(s.secrets)
	if err != nil {
		return nil, err
	}
	all := m.Object(providerTokens)
	out := make(map[string]ProviderToken, all.Len())
	for _, provider := range all.Keys() {
		var t ProviderToken
		if err := schema.Into(all.Object(provider), &t); err != nil {
			return nil, err
		}
		if t.Token == "" {
			if err := s.opens(s.secrets, providerTokens, provider); err != nil {
				return nil, err
			}
		}
		out[provider] = t
	}
	return out, nil
}

// ProviderHosts returns the providers that have a token, each with its host, nil
// for the provider's own.
func (s *Service) ProviderHosts() (map[string]*string, error) {
	m, err := s.readable(s.secrets)
	if err != nil {
		return nil, err
	}
	all := m.Object(providerTokens)
	out := make(map[string]*string, all.Len())
	for _, provider := range all.Keys() {
		out[provider] = all.Object(provider).Pointer("host")
	}
	return out, nil
}

// SetProviderTokens replaces the user's tokens. One that is empty stays as it is
// stored, with the host of the change; without a stored one it is left out.
func (s *Service) SetProviderTokens(ctx context.Context, tokens map[string]ProviderToken) error {
	return s.change(ctx, s.secrets, errSecretsBlocked, func(m *schema.Map) error {
		old, all := m.Object(providerTokens), schema.NewMap()
		for _, provider := range GitProviders {
			t, ok := tokens[provider]
			if !ok {
				continue
			}
			if stored := old.Object(provider); t.Token == "" && stored != nil {
				var kept ProviderToken
				if err := schema.Into(stored, &kept); err != nil {
					return err
				}
				t.Token, t.RefreshToken, t.Expires = kept.Token, kept.RefreshToken, kept.Expires
				if t.UserID == "" {
					t.UserID = stored.Text("user_id")
				}
			}
			if t.Token != "" {
				all.Set(provider, t.document())
			}
		}
		setOrDelete(m, providerTokens, all)
		return nil
	})
}

// RenewProviderToken has f renew a token that is due, and returns the token that is stored
// then. One caller at a time does so, here and in other processes; the others get the stored
// one. The secrets are locked meanwhile: f must not take long. If it returns an error of
// kind Auth, the refresh token is deleted, which nobody tries again.
func (s *Service) RenewProviderToken(ctx context.Context, provider string, due func(ProviderToken) bool, f func(ProviderToken) (ProviderToken, error)) (now ProviderToken, err error) {
	select { // who waits here holds no connection to a database
	case s.renewing <- struct{}{}:
		defer func() { <-s.renewing }()
	case <-ctx.Done():
		return ProviderToken{}, fault.Wrap(ctx.Err(), fault.Canceled, "wait for a token that is being renewed")
	}
	all, err := s.ProviderTokens(ctx)
	if err != nil || !due(all[provider]) {
		return all[provider], err
	}
	var refused error
	// A renewed token is stored even if the caller is gone: the old token may be void.
	err = s.change(context.WithoutCancel(ctx), s.secrets, errSecretsBlocked, func(m *schema.Map) error {
		stored := m.Object(providerTokens).Object(provider)
		if stored == nil {
			now = ProviderToken{}
			return nil
		}
		if err := schema.Into(stored, &now); err != nil || !due(now) {
			return err
		}
		renewed, err := f(now)
		switch {
		case fault.Is(err, fault.Auth):
			refused, now.RefreshToken = err, ""
		case err != nil:
			return err
		default:
			now = renewed
		}
		m.Object(providerTokens).Set(provider, now.document())
		return nil
	})
	return now, errors.Join(refused, err)
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func setOrDelete(m *schema.Map, key string, v *schema.Map) {
	m.Delete(key)
	if v.Len() > 0 {
		m.Set(key, v)
	}
}

// tokenSecret is the name under which programs in a sandbox look a provider's token
// up.
func tokenSecret(provider string) string { return provider + "_token" }

// SandboxSecrets returns the names of all that a sandbox may look up: the user's
// secrets, then provider tokens such as github_token. A secret of the user's hides
// a token of that name.
func (s *Service) SandboxSecrets() ([]SecretItem, error) {
	out, err := s.Secrets()
	if err != nil {
		return nil, err
	}
	hosts, err := s.ProviderHosts()
	if err != nil {
		return nil, err
	}
	for _, provider := range GitProviders {
		name := tokenSecret(provider)
		if _, ok := hosts[provider]; ok && !slices.ContainsFunc(out, func(one SecretItem) bool { return one.Name == name }) {
			description := provider + " authentication token"
			out = append(out, SecretItem{Name: name, Description: &description})
		}
	}
	return out, nil
}

// SandboxSecret returns the value that a sandbox looks up: a secret of the user's,
// or else a provider token. NotFound where there is neither.
func (s *Service) SandboxSecret(ctx context.Context, name string) (llm.Secret, error) {
	value, err := s.Secret(ctx, name)
	provider, isToken := strings.CutSuffix(name, tokenSecret(""))
	if err == nil || !isToken || !fault.Is(err, fault.NotFound) {
		return value, err
	}
	tokens, terr := s.ProviderTokens(ctx)
	if terr != nil {
		return "", terr
	}
	t, ok := tokens[provider]
	if ok && s.o.Current != nil {
		if t, terr = s.o.Current(ctx, s, provider, t); terr != nil {
			return "", terr
		}
	}
	if t.Token != "" {
		return t.Token, nil
	}
	return "", err
}
