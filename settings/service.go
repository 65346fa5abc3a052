package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/settings/filestore"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/settings/permission"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// Options have the places of the settings, and the services that a Service uses.
type Options struct {
	// Dir is the persistence directory: OH_PERSISTENCE_DIR or ~/.openhands.
	Dir string
	// Files have that directory; nil for this machine's.
	Files filestore.Files
	// Keys seal secrets. Without a current key they are stored in the clear,
	// and cannot be returned sealed.
	Keys *keyring.Ring
	// Ping makes one short call to a model, without retries, to see whether its
	// settings are right; nil if nothing can be checked.
	Ping func(ctx context.Context, l *spec.LLM) error
	// Skills and PublicSkills are as in launch.Stores; nil for none.
	Skills       func(ctx context.Context) ([]*schema.Map, error)
	PublicSkills func(ctx context.Context) ([]string, error)
	// Usable says whether this server can run a tool; nil for all.
	Usable func(tool string) bool
	// Confirm is what new conversations of users have who have chosen nothing; empty for
	// [security.Never].
	Confirm security.Preset
	// CommonLLM is the LLM of users who have never chosen one; nil for none.
	CommonLLM *schema.Map
	// Streams makes the settings' LLM stream its answers, because people watch.
	Streams bool
	// NoBrowser says that no agent gets the browser tools.
	NoBrowser bool
	// Current returns a provider's token that is good for a while, renewed if it is about
	// to expire; nil for the stored one.
	Current func(ctx context.Context, s *Service, provider string, stored ProviderToken) (ProviderToken, error)
	// Env reads environment variables, which profiles may name for their keys;
	// nil takes os.Getenv.
	Env func(string) string
	Log *slog.Logger
}

// Service keeps the settings of one user.
type Service struct {
	// Profiles are the stores of everything that is saved under a name.
	Profiles *profiles.Stores
	// Answers are what the user has answered about files of projects.
	Answers *permission.Store

	o                         Options
	keys                      schema.Keys // nil without a current key
	settings, secrets, logins *filestore.Document

	renewing chan struct{} // has a token while a token of a Git host is renewed
}

// Open returns the service of a directory. Secrets that only an old key opens
// are sealed again; if that fails they stay as they are, and it is logged.
func Open(ctx context.Context, o Options) (*Service, error) {
	if o.Dir == "" {
		return nil, errors.New("settings need a directory")
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Service{o: o, renewing: make(chan struct{}, 1)}
	if o.Keys.CanSeal() {
		s.keys = o.Keys
	}
	if o.Files == nil {
		if err := os.MkdirAll(o.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the persistence directory: %w", err)
		}
	}
	described := documentSchema
	if o.Confirm != "" {
		described = documentWith(agentsettings.ConversationWith(o.Confirm))
	}
	s.settings = &filestore.Document{
		Path: filepath.Join(o.Dir, "settings.json"), Lock: ".settings.lock", Schema: described, Keys: s.keys, Files: o.Files,
	}
	s.secrets = &filestore.Document{
		Path: filepath.Join(o.Dir, "secrets.json"), Lock: ".secrets.lock", Schema: secretsSchema, Keys: s.keys, Files: o.Files,
	}
	s.logins = &filestore.Document{
		Path: filepath.Join(o.Dir, "mcp_logins.json"), Lock: ".mcp_logins.lock", Schema: loginsSchema, Keys: s.keys, Files: o.Files,
	}
	s.Answers = permission.Open(o.Dir, o.Files)
	s.Profiles = profiles.Open(profiles.Options{Dir: o.Dir, Files: o.Files, Keys: s.keys, Log: o.Log, Env: o.Env})
	if s.keys == nil {
		return s, nil
	}
	if err := errors.Join(s.settings.Renew(ctx), s.secrets.Renew(ctx), s.logins.Renew(ctx), s.Profiles.Renew(ctx)); err != nil {
		o.Log.Error("some secrets could not be sealed with the current key", "error", err)
	}
	return s, nil
}

// Keys returns the keys that seal and open secrets, nil where there is none.
func (s *Service) Keys() schema.Keys { return s.keys }

// launchStores returns the stores that resolve the references of launches. The
// error is schema.ErrSealed if no key opens a secret of the settings' MCP servers.
func (s *Service) launchStores() (*launch.Stores, error) {
	doc, err := s.Load()
	if err != nil {
		return nil, err
	}
	stores := s.storesOf(doc)
	if stores.MCP.Len() > 0 {
		err = s.opens(s.settings, "agent_settings", "mcp_config")
	}
	return stores, err
}

func (s *Service) storesOf(doc *Document) *launch.Stores {
	servers := doc.Agent.Object("mcp_config")
	if servers == nil {
		servers = schema.NewMap()
	}
	return &launch.Stores{
		LLMs: s.Profiles.LLMs, Agents: s.Profiles.Agents, Metas: s.Profiles.Metas,
		MCP: servers, CriticKey: llm.Secret(doc.Agent.Object("verification").Text("critic_api_key")),
		Skills: s.o.Skills, PublicSkills: s.o.PublicSkills,
	}
}

// Preview describes the result of launching an agent profile, without starting
// anything.
func (s *Service) Preview(ctx context.Context, profile *schema.Map) (*launch.Diagnostics, error) {
	doc, err := s.Load()
	if err != nil {
		return nil, err
	}
	memory := doc.Agent.Object("agent_context").Get("load_memory") == true
	return launch.Preview(ctx, profile, s.storesOf(doc), launch.Runtime{Preset: spec.Preset{NoBrowser: s.o.NoBrowser}, Memory: memory}, s.o.Usable)
}
