package agentserver

import (
	"context"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// savedSettings implements [session.Settings] with the server's settings, which
// belong to one user.
type savedSettings struct{ s *services }

// LLM implements [session.Settings].
func (v savedSettings) LLM(ctx context.Context, _ identity.Tenant, profile string) (*spec.LLM, error) {
	return v.s.settings.Profiles.LLMs.Load(ctx, profile)
}

// DefaultLLM implements [session.Settings].
func (v savedSettings) DefaultLLM(context.Context, identity.Tenant) (*spec.LLM, error) {
	if err := v.s.settings.AgentOpens(); err != nil {
		return nil, err
	}
	doc, err := v.s.settings.Load()
	if err != nil {
		return nil, err
	}
	return launch.DefaultLLM(doc.Agent)
}

// LLMs implements [session.Settings].
func (v savedSettings) LLMs(ctx context.Context, _ identity.Tenant) ([]string, error) {
	return v.s.settings.Profiles.LLMs.Names(ctx)
}

// Assigned implements [session.Settings].
func (v savedSettings) Assigned(_ context.Context, _ identity.Tenant, service string) (string, error) {
	all, err := profiles.ReadAssignments(nil, v.s.cfg.PersistenceDir)
	return all.Services[service], err
}

// Secret implements [session.Settings]: a secret whose URL is this server's own
// is looked up without a request.
func (v savedSettings) Secret(ctx context.Context, _ identity.Tenant, url string) (string, bool) {
	name, ok := secret.LocalName(v.s.url, url)
	if !ok {
		return "", false
	}
	value, err := v.s.settings.Secret(ctx, name)
	if err != nil {
		v.s.log.Warn("a stored secret cannot be read", "secret", name, "err", err)
		return "", true
	}
	return string(value), true
}

// storedSecret returns a secret of the settings, "" if there is none.
func (s *services) storedSecret(ctx context.Context, name string) (string, error) {
	v, err := s.settings.Secret(ctx, name)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	return string(v), err
}
