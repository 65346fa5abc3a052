package settings

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
)

// SecretNames match names of secrets: they become environment variables.
var SecretNames = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,63}$`)

// SecretItem is a secret without its value.
type SecretItem struct {
	Name        string  `json:"name"`
	Description *string `json:"description"`
}

var secretSchema = &schema.Object{Fields: []schema.Field{
	{Name: "name", Type: schema.String{Pattern: SecretNames}, Required: true},
	{Name: "secret", Type: schema.Opt(schema.Secret{})},
	{Name: "description", Type: schema.Opt(schema.String{})},
}}

const (
	customSecrets = "custom_secrets"
	// generations has a token for each secret whose changes are followed.
	generations = "_credential_versions"
)

var secretsSchema = &schema.Object{
	Extra: schema.Keep,
	Before: func(m *schema.Map) error {
		out := schema.NewMap()
		old := m.Object(customSecrets)
		for _, name := range old.Keys() {
			switch v := old.Get(name).(type) {
			case string:
				out.Set(name, schema.Of("name", name, "secret", v))
			case *schema.Map:
				out.Set(name, schema.Of("name", name, "secret", v.Get("secret"), "description", v.Get("description")))
			}
		}
		m.Set(customSecrets, out)
		return nil
	},
	Fields: []schema.Field{
		{Name: customSecrets, Type: schema.Dict{Of: secretSchema}, Default: func() any { return schema.NewMap() }},
		{Name: providerTokens, Type: schema.Dict{Of: tokenSchema}, MayBeAbsent: true},
		{Name: string(SearchKey), Type: schema.Opt(schema.Secret{}), MayBeAbsent: true},
		{Name: string(SandboxKey), Type: schema.Opt(schema.Secret{}), MayBeAbsent: true},
	},
}

// errSecretsBlocked is the error of a file of secrets that must not be written
// over.
var errSecretsBlocked = fault.New(fault.Corrupt, "Secrets file is corrupted or encrypted with a different key: "+
	"restore that key as OH_SECRET_KEY or add it to OH_PREVIOUS_SECRET_KEYS")

// Secrets returns the names of all secrets, in the order they were made.
func (s *Service) Secrets() ([]SecretItem, error) {
	m, err := s.readable(s.secrets)
	if err != nil {
		return nil, err
	}
	out := []SecretItem{}
	all := m.Object(customSecrets)
	for _, name := range all.Keys() {
		out = append(out, SecretItem{Name: name, Description: all.Object(name).Pointer("description")})
	}
	return out, nil
}

// Secret returns the value of a secret, NotFound where there is none, and
// schema.ErrSealed if no key opens it.
func (s *Service) Secret(_ context.Context, name string) (llm.Secret, error) {
	m, err := s.readable(s.secrets)
	if err != nil {
		return "", err
	}
	value := m.Object(customSecrets).Object(name).Text("secret")
	if value == "" {
		if err := s.opens(s.secrets, customSecrets, name); err != nil {
			return "", err
		}
		return "", fault.New(fault.NotFound, "Secret not found")
	}
	return llm.Secret(value), nil
}

// SetSecret makes or changes a secret.
func (s *Service) SetSecret(ctx context.Context, name string, value llm.Secret, description *string) error {
	return s.changeSecrets(ctx, func(all, versions *schema.Map) error {
		all.Set(name, schema.Of("name", name, "secret", value.Reveal(), "description", nullable(description)))
		if _, followed := versions.Lookup(name); followed {
			token := make([]byte, 24)
			_, _ = rand.Read(token) // never fails
			versions.Set(name, base64.RawURLEncoding.EncodeToString(token))
		}
		return nil
	})
}

// RenameSecret gives a secret another name and, unless it is nil, another
// description; its value stays. NotFound where there is none, Conflict if the name
// is taken.
func (s *Service) RenameSecret(ctx context.Context, name, to string, description *string) error {
	return s.changeSecrets(ctx, func(all, versions *schema.Map) error {
		one := all.Object(name)
		if one == nil {
			return fault.New(fault.NotFound, "Secret not found")
		}
		if description != nil {
			one.Set("description", *description)
		}
		if name == to {
			return nil
		}
		if _, ok := all.Lookup(to); ok {
			return fault.New(fault.Conflict, "Secret "+to+" already exists")
		}
		one.Set("name", to)
		all.Delete(name)
		all.Set(to, one)
		versions.Delete(name)
		return nil
	})
}

// DeleteSecret removes a secret, NotFound where there is none.
func (s *Service) DeleteSecret(ctx context.Context, name string) error {
	return s.changeSecrets(ctx, func(all, versions *schema.Map) error {
		if _, ok := all.Lookup(name); !ok {
			return fault.New(fault.NotFound, "Secret not found")
		}
		all.Delete(name)
		versions.Delete(name)
		return nil
	})
}

func (s *Service) changeSecrets(ctx context.Context, f func(all, versions *schema.Map) error) error {
	return s.change(ctx, s.secrets, errSecretsBlocked, func(m *schema.Map) error {
		versions := m.Object(generations).Copy()
		if err := f(m.Object(customSecrets), versions); err != nil {
			return err
		}
		setOrDelete(m, generations, versions)
		return nil
	})
}

// UsableSecret reports whether a value is neither blank nor the mask.
func UsableSecret(value string) bool { return strings.TrimSpace(value) != "" && value != schema.Mask }
