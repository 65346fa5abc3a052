package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	serversettings "github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/spec"
)

// openSettings opens the user's settings.
func openSettings(ctx context.Context, std *streams) (*settings.Service, error) {
	dir, err := serversettings.PersistenceDir(std.Env)
	if err != nil {
		return nil, err
	}
	ring, err := serversettings.OpenRing(std.Env, dir, std.tell)
	if err != nil {
		return nil, err
	}
	return settings.Open(ctx, settings.Options{Dir: dir, Keys: ring, Env: std.Env})
}

// agentSettings returns the user's settings of the built-in agent, which the agent server has too;
// nil where nothing was ever set.
func (r *foreground) agentSettings(ctx context.Context) (*schema.Map, error) {
	dir, err := serversettings.PersistenceDir(r.std.Env)
	if fault.Is(err, fault.Invalid) { // there is no home
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "settings.json")); err != nil {
		return nil, nil //nolint:nilerr // a home of somebody else's, as under sudo, has no settings either
	}
	s, err := openSettings(ctx, r.std)
	if errors.Is(err, fs.ErrPermission) {
		r.std.tell("deft: note: " + err.Error() + "; going on without your settings")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	doc, err := s.Load()
	if err != nil || doc.ACP() {
		return nil, err
	}
	return doc.Agent, nil
}

// savedProfiles are the user's LLM profiles, meta-profiles and memory file, for tools and sub-agents
// of deft run: the rest of the settings comes from its flags. They are opened at their first use.
type savedProfiles struct{ *settings.Owners }

func newSavedProfiles(std *streams) savedProfiles {
	return savedProfiles{settings.NewOwners(settings.OwnersOptions{
		Open: func(ctx context.Context, _ string) (*settings.Service, error) { return openSettings(ctx, std) },
	})}
}

// DefaultLLM implements [session.Settings].
func (savedProfiles) DefaultLLM(context.Context, identity.Tenant) (*spec.LLM, error) {
	return nil, fault.New(fault.NotFound, "deft run has its model from its flags")
}

// Assigned implements [session.Settings].
func (savedProfiles) Assigned(context.Context, identity.Tenant, string) (string, error) {
	return "", nil
}

// Secret implements [session.Settings].
func (savedProfiles) Secret(context.Context, identity.Tenant, string) (string, bool) {
	return "", false
}
