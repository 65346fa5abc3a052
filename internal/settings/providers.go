package settings

import (
	"context"
	"slices"
	"strings"

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
}

const providerTokens = "provider_tokens"

var tokenSchema = &schema.Object{Fields: []schema.Field{
	{Name: "token", Type: schema.Opt(schema.Secret{})},
	{Name: "user_id", Type: schema.Opt(schema.String{})},
	{Name: "host", Type: schema.Opt(schema.String{})},
}}

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
				t.Token = llm.Secret(stored.Text("token"))
				if t.UserID == "" {
					t.UserID = stored.Text("user_id")
				}
			}
			if t.Token != "" {
				all.Set(provider, schema.Of("token", t.Token.Reveal(), "user_id", orNil(t.UserID), "host", orNil(t.Host)))
			}
		}
		setOrDelete(m, providerTokens, all)
		return nil
	})
}

// RefreshProviderToken changes the token of a provider that has one. It does
// nothing if the stored token is not old, so that it never undoes a change of the
// user's.
func (s *Service) RefreshProviderToken(ctx context.Context, provider string, old, token llm.Secret) error {
	return s.change(ctx, s.secrets, errSecretsBlocked, func(m *schema.Map) error {
		if stored := m.Object(providerTokens).Object(provider); stored != nil && stored.Text("token") == old.Reveal() {
			stored.Set("token", token.Reveal())
		}
		return nil
	})
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
	if t := tokens[provider]; t.Token != "" {
		return t.Token, nil
	}
	return "", err
}
