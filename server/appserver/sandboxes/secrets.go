package sandboxes

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// KeyFor returns the session key of a sandbox for the caller of a request. A browser gets one
// that reads no secrets.
func KeyFor(ctx context.Context, b store.Sandbox) string {
	if identity.CallerOf(ctx).Method == identity.Cookie {
		return b.BrowserKey()
	}
	return b.SessionKey
}

// GiveAll gives a sandbox all secrets that its owner has stored by now: a program that starts one
// without a conversation looks them up by name.
func (s *Service) GiveAll(ctx context.Context, owner identity.Tenant, id string) error {
	names, err := s.o.Stored(ctx, owner)
	if err != nil {
		return err
	}
	return s.o.Store.GiveSecrets(ctx, string(owner), id, names)
}

// Give gives a sandbox the stored secrets of a conversation that its owner starts there.
func (s *Service) Give(ctx context.Context, b store.Sandbox, spec *session.Spec) error {
	all := spec.Secrets
	if spec.SecretRefs != nil {
		all = make(map[string]json.RawMessage, len(spec.SecretRefs))
		for _, name := range spec.SecretRefs {
			if raw, ok := spec.Secrets[name]; ok {
				all[name] = raw
			}
		}
	}
	names, err := s.stored(all)
	if err != nil {
		return err
	}
	return s.o.Store.GiveSecrets(ctx, b.Owner, b.ID, names)
}

// stored returns the names of the stored secrets that sources refer to.
func (s *Service) stored(sources map[string]json.RawMessage) (names []string, err error) {
	for _, raw := range sources {
		one, err := secret.Parse(raw, secret.ParseOptions{Server: s.o.SecretsURL})
		if err != nil {
			return nil, err
		}
		if one.Kind != secret.KindLookup {
			continue
		}
		if name, ok := secret.StoredName(s.o.SecretsURL, one.URL); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// CheckSecrets implements [session.Members]: a client with the session key names no stored secret
// that the sandbox was not given.
func (m members) CheckSecrets(ctx context.Context, sources map[string]json.RawMessage) error {
	names, err := m.s.stored(sources)
	if err != nil || len(names) == 0 {
		return err
	}
	given, err := m.s.o.Store.GivenSecrets(ctx, m.b.Owner, m.b.ID)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(given, name) {
			return fault.New(fault.Denied, "the sandbox was not given the secret "+name).
				Hint("start a conversation in it as its owner, or resume it, after the secret was stored")
		}
	}
	return nil
}
