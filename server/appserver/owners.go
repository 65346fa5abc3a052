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
	// Of conversations whose owner has set nothing.
	maxIterations int
	maxCost       float64
}

// openOwners opens the settings of owners, sealed with the current key.
func openOwners(ctx context.Context, o Options, all *store.Store) (*owners, error) {
	out := &owners{log: o.Log, maxIterations: o.MaxIterations, maxCost: o.MaxCost, forge: o.Forges, renewer: o.Renewer}
	each := settings.Options{
		Keys: o.Ring, Ping: agentserver.Pinger(o.Adapters), Log: o.Log, Usable: agentserver.UsableTool, Confirm: o.Confirm,
		CommonLLM: o.Model, Streams: true, Current: out.current,
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
	rt := launch.Runtime{Preset: spec.Preset{SubAgents: true}}
	if strings.TrimSpace(suffix) != "" {
		rt.Suffixes = []string{suffix}
	}
	l, err := s.Launch(ctx, src, rt)
	if err != nil {
		return nil, err
	}
	out := &session.Spec{Agent: l.Agent, Profile: l.Profile, SecretRefs: l.SecretRefs, Setup: session.DefaultSetup(), Secrets: map[string]json.RawMessage{}}
	doc, err := s.Load()
	if err != nil {
		return nil, err
	}
	prefs, err := doc.Preferences()
	if err != nil {
		return nil, err
	}
	out.MaxCost = cmp.Or(prefs.MaxBudgetPerTask, o.maxCost)
	out.Setup.Follow(doc.Conversation)
	if o.maxIterations > 0 && out.MaxIterations == session.DefaultSetup().MaxIterations {
		out.MaxIterations = o.maxIterations
	}
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
	return out, addTokens(s, out.Secrets)
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
