package appserver

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/filestore"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// owners have the settings of each owner. Those of the local one are the user's own, which
// deft run has too; others have a directory of theirs. Where servers share a database all
// settings are there, and deft run has its own.
type owners struct {
	files filestore.Files // nil for those of this machine
	local string          // the user's directory of settings
	dir   string          // of those of others
	url   string          // where this machine reaches the server
	open  func(ctx context.Context, dir string) (*settings.Service, error)
	log   *slog.Logger
	forge forge.Opener
	// renewer is nil where no tokens are renewed.
	renewer forge.Renewer
	model   *schema.Map // LLM of owners who have chosen none; nil for none
	// Of conversations whose owner has set nothing.
	maxIterations int
	maxCost       float64

	mu   sync.Mutex
	all  map[identity.Tenant]*openSettings
	uses uint64
}

// keptOwners is how many owners' settings are kept open. Settings are files: a service that
// somebody still uses when it is let go works beside the next one.
const keptOwners = 256

type openSettings struct {
	service *settings.Service
	used    uint64 // the number of the last use
}

func (o *owners) directory(owner identity.Tenant) string {
	if owner == identity.LocalTenant {
		return o.local
	}
	return filepath.Join(o.dir, store.Hash(string(owner))[:32])
}

func (o *owners) of(ctx context.Context, owner identity.Tenant) (*settings.Service, error) {
	if owner == "" {
		return nil, fault.New(fault.Auth, "there is no user")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.uses++
	if s := o.all[owner]; s != nil {
		s.used = o.uses
		return s.service, nil
	}
	s, err := o.open(context.WithoutCancel(ctx), o.directory(owner)) // it is for later callers too
	if err != nil {
		return nil, err
	}
	if len(o.all) >= keptOwners {
		o.dropOldest()
	}
	o.all[owner] = &openSettings{s, o.uses}
	return s, nil
}

// dropOldest lets the settings go that were not used for the longest time.
func (o *owners) dropOldest() {
	var oldest identity.Tenant
	for owner, s := range o.all {
		if oldest == "" || s.used < o.all[oldest].used {
			oldest = owner
		}
	}
	delete(o.all, oldest)
}

// renew seals the settings of all owners with the current key, so that previous ones can be
// taken away. Opening settings does it; they are not kept, since most owners are not there.
func (o *owners) renew(ctx context.Context, all *store.Store) error {
	names, err := all.Owners(ctx)
	if err != nil {
		return err
	}
	if local := string(identity.LocalTenant); !slices.Contains(names, local) { // deft run has the same ones
		names = append(names, local)
	}
	for _, name := range names {
		if _, err := o.open(ctx, o.directory(identity.Tenant(name))); err != nil {
			return err
		}
	}
	return nil
}

// LLM implements [session.Settings].
func (o *owners) LLM(ctx context.Context, owner identity.Tenant, profile string) (*spec.LLM, error) {
	s, err := o.of(ctx, owner)
	if err != nil {
		return nil, err
	}
	return s.Profiles.LLMs.Load(ctx, profile)
}

// DefaultLLM implements [session.Settings].
func (o *owners) DefaultLLM(ctx context.Context, owner identity.Tenant) (*spec.LLM, error) {
	s, err := o.of(ctx, owner)
	if err != nil {
		return nil, err
	}
	if err := s.AgentOpens(); err != nil {
		return nil, err
	}
	doc, err := s.Load()
	if err != nil {
		return nil, err
	}
	return launch.DefaultLLM(streamed(withModel(doc.Agent, o.model)))
}

// LLMs implements [session.Settings].
func (o *owners) LLMs(ctx context.Context, owner identity.Tenant) ([]string, error) {
	s, err := o.of(ctx, owner)
	if err != nil {
		return nil, err
	}
	return s.Profiles.LLMs.Names(ctx)
}

// Assigned implements [session.Settings].
func (o *owners) Assigned(_ context.Context, owner identity.Tenant, service string) (string, error) {
	all, err := profiles.ReadAssignments(o.files, o.directory(owner))
	return all.Services[service], err
}

// Secret implements [session.Settings]: secrets of the owner's settings, and tokens of Git
// providers, are looked up without a request.
func (o *owners) Secret(ctx context.Context, owner identity.Tenant, url string) (string, bool) {
	name, ok := secret.LocalName(o.url, url)
	if !ok {
		return "", false
	}
	s, err := o.of(ctx, owner)
	if err == nil {
		var value llm.Secret
		if value, err = s.SandboxSecret(ctx, name); err == nil {
			return string(value), true
		}
	}
	o.log.Warn("a stored secret cannot be read", "secret", name, "err", err)
	return "", true
}

// Launch implements [conversations.Settings].
func (o *owners) Launch(ctx context.Context, owner identity.Tenant, model, profile, suffix string) (*session.Spec, error) {
	s, err := o.of(ctx, owner)
	if err != nil {
		return nil, err
	}
	doc, err := s.Load()
	if err != nil {
		return nil, err
	}
	stores, err := s.LaunchStores()
	if err != nil {
		return nil, err
	}
	id, _ := event.ParseConversationID(profile) // a UUID, too
	src := launch.Source{ProfileID: string(id)}
	if src.ProfileID == "" {
		if err := s.AgentOpens(); err != nil {
			return nil, err
		}
		src.Settings = withSkills(streamed(withModel(doc.Agent, o.model)), owner == identity.LocalTenant)
		if model != "" {
			src.Settings.Object("llm").Set("model", model)
		}
	}
	resolved, err := launch.Resolve(ctx, src, stores)
	if err != nil {
		return nil, err
	}
	rt := launch.Runtime{Preset: spec.Preset{SubAgents: true}}
	if strings.TrimSpace(suffix) != "" {
		rt.Suffixes = []string{suffix}
	}
	a, err := launch.Finalize(resolved, rt)
	if err != nil {
		return nil, err
	}
	out := &session.Spec{Agent: a, Setup: session.DefaultSetup(), Secrets: map[string]json.RawMessage{}}
	if p := resolved.Profile; p != nil {
		out.SecretRefs = p.SecretRefs
		if out.Profile, err = json.Marshal(p); err != nil {
			return nil, err
		}
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
	s, err := o.of(ctx, owner)
	if err != nil {
		return settings.Preferences{}, err
	}
	doc, err := s.Load()
	if err != nil {
		return settings.Preferences{}, err
	}
	return doc.Preferences()
}

// streamed returns a copy of settings whose LLM streams its answers, as that of a profile
// does: people watch.
func streamed(agent *schema.Map) *schema.Map {
	agent = agent.Copy()
	if l := agent.Object("llm"); l != nil {
		l = l.Copy()
		l.Set("stream", true)
		agent.Set("llm", l)
	}
	return agent
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

// withModel gives settings in which an LLM was never chosen the server's own.
func withModel(agent, model *schema.Map) *schema.Map {
	had := agent.Object("llm")
	if model == nil || had == nil || had.Text("model") != spec.LLMSchema.Defaults().Text("model") {
		return agent
	}
	for _, key := range []string{"api_key", "base_url", "provider_connection_id", "subscription_vendor"} {
		if had.Text(key) != "" {
			return agent
		}
	}
	had = had.Copy()
	for _, key := range model.Keys() {
		had.Set(key, model.Get(key))
	}
	agent = agent.Copy()
	agent.Set("llm", had)
	return agent
}
