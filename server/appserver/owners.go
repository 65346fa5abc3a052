package appserver

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/server/agentserver"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/spec"
)

// owners are the settings of each owner, and the Git hosts that they name. Those of the local
// owner are the user's own, which deft run has too; others have a directory of theirs. Where
// servers share a database all settings are there, and deft run has its own.
type owners struct {
	*settings.Owners

	log   *slog.Logger
	forge forge.Opener
	// renewer is nil where no tokens are renewed.
	renewer forge.Renewer
	// usersHooks is the directory with the hooks of the local owner; "" where others are served.
	usersHooks string
	// Of conversations whose owner has set nothing.
	maxIterations int
	maxCost       float64

	organisations organisations
}

// openOwners opens the settings of owners, sealed with the current key.
func openOwners(ctx context.Context, o Options, all *store.Store) (*owners, error) {
	out := &owners{log: o.Log, maxIterations: o.MaxIterations, maxCost: o.MaxCost, forge: o.Forges, renewer: o.Renewer}
	each := settings.Options{
		Keys: o.Ring, Ping: agentserver.Pinger(o.Adapters), Log: o.Log, Usable: agentserver.UsableTool, Confirm: o.Confirm,
		CommonLLM: o.Model, Streams: true, Current: out.current,
	}
	if o.Local != nil {
		out.usersHooks = o.Settings
	}
	places := settings.OwnersOptions{Local: o.Settings, Dir: filepath.Join(o.Dir, "owners"), URL: secretsURL, Log: o.Log}
	if all.Shared() {
		each.Files, places.Local, places.Dir = all.Documents(), "local", "owners"
	}
	places.Open = func(ctx context.Context, dir string) (*settings.Service, error) {
		one := each
		one.Dir = dir
		return settings.Open(ctx, one)
	}
	out.Owners = settings.NewOwners(places)
	if !o.Ring.HasPrevious() {
		return out, nil
	}
	names, err := all.Owners(ctx)
	if err != nil {
		return nil, err
	}
	return out, out.Renew(ctx, names)
}

// limits returns the limits of an owner's new conversations.
func (o *owners) limits(ctx context.Context, owner identity.Tenant) (session.Limits, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return session.Limits{}, err
	}
	doc, err := s.Load()
	if err != nil {
		return session.Limits{}, err
	}
	return o.limitsIn(doc)
}

func (o *owners) limitsIn(doc *settings.Document) (session.Limits, error) {
	prefs, err := doc.Preferences()
	if err != nil {
		return session.Limits{}, err
	}
	setup := session.DefaultSetup()
	usual := setup.MaxIterations
	setup.Follow(doc.Conversation)
	if o.maxIterations > 0 && setup.MaxIterations == usual {
		setup.MaxIterations = o.maxIterations
	}
	return session.Limits{MaxIterations: setup.MaxIterations, MaxCost: cmp.Or(prefs.MaxBudgetPerTask, o.maxCost)}, nil
}

// Launch implements [conversations.Settings].
func (o *owners) Launch(ctx context.Context, owner identity.Tenant, model, profile, suffix string) (*session.Spec, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return nil, err
	}
	id, _ := event.ParseConversationID(profile) // a UUID, too
	src := launch.Source{ProfileID: string(id)}
	if src.ProfileID == "" {
		agent, err := s.StartAgent()
		if err != nil {
			return nil, err
		}
		src.Settings = withSkills(agent, owner == identity.LocalTenant)
		if model != "" {
			src.Settings.Object("llm").Set("model", model)
		}
	}
	prefs, err := o.preferences(ctx, owner)
	if err != nil {
		return nil, err
	}
	rt := launch.Runtime{Preset: spec.Preset{Name: prefs.AgentPreset, More: prefs.MoreTools, SubAgents: true}}
	if strings.TrimSpace(suffix) != "" {
		rt.Suffixes = []string{suffix}
	}
	l, err := s.Launch(ctx, src, rt)
	if err != nil {
		return nil, err
	}
	out := &session.Spec{Agent: l.Agent, OwnersModel: model == "" && src.ProfileID == "", Profile: l.Profile, SecretRefs: l.SecretRefs, Setup: session.DefaultSetup(), Secrets: map[string]json.RawMessage{}}
	doc, err := s.Load()
	if err != nil {
		return nil, err
	}
	out.Setup.Follow(doc.Conversation)
	limits, err := o.limitsIn(doc)
	if err != nil {
		return nil, err
	}
	out.MaxIterations, out.MaxCost = limits.MaxIterations, limits.MaxCost
	names, err := s.Secrets()
	if err != nil {
		return nil, err
	}
	for _, one := range names {
		raw, err := json.Marshal(map[string]any{"kind": "LookupSecret", "url": secret.LocalPath(one.Name), "description": one.Description})
		if err != nil {
			return nil, err
		}
		out.Secrets[one.Name] = raw
	}
	if owner == identity.LocalTenant && o.usersHooks != "" {
		hooks, err := hook.LoadUser(o.usersHooks)
		if err == nil {
			err = out.AddHooks(hooks)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, addTokens(s, out.Secrets)
}

// storedSecrets returns the names of what an owner's sandboxes may look up.
func (o *owners) storedSecrets(ctx context.Context, owner identity.Tenant) (names []string, err error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return nil, err
	}
	all, err := s.SandboxSecrets()
	for _, one := range all {
		names = append(names, one.Name)
	}
	return names, err
}

// Strategy implements [conversations.Settings].
func (o *owners) Strategy(ctx context.Context, owner identity.Tenant) (sandboxes.Strategy, error) {
	prefs, err := o.preferences(ctx, owner)
	return sandboxes.Strategy(prefs.SandboxGrouping), err
}

func (o *owners) preferences(ctx context.Context, owner identity.Tenant) (settings.Preferences, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return settings.Preferences{}, err
	}
	doc, err := s.Load()
	if err != nil {
		return settings.Preferences{}, err
	}
	return doc.Preferences()
}

// withSkills has the agent of settings, a copy, find the skills of its repository, and for
// the owner of this machine those of the home directory, as deft run does.
func withSkills(agent *schema.Map, home bool) *schema.Map {
	context := schema.NewMap()
	if had := agent.Object("agent_context"); had != nil {
		context = had.Copy()
	}
	context.Set("load_project_skills", true)
	if home {
		context.Set("load_user_skills", true)
	}
	agent.Set("agent_context", context)
	return agent
}
