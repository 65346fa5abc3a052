// Package modelchoice finds the models of commands: from flags, from the profiles and
// assignments of the user, and from the environment.
//
// # Usage
//
//	source := modelchoice.New(std.Env, tell)
//	err := choice.Choose(source, quiet) // a Choice is part of a command line, for kong
//	chosen, err := choice.Documents(ctx, source, maxCost)
//	sessions, err := session.Open(session.Options{Models: source, …})
//
// # Concurrency
//
// A Source is safe for concurrent use once models are chosen.
//
// # Failure
//
// A model that cannot be used is fault.Invalid, a missing key fault.Auth. No request is
// made before a model is called. A key is never in an error.
package modelchoice

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/deft-dev/deft/cli/profile"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/broker/debuglog"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// Source opens models with the user's own catalogue, profiles and environment. It
// implements [session.Models]. Nothing is read before the first model is asked for.
type Source struct {
	// Log gets warnings about settings without an effect.
	Log *slog.Logger

	env  func(string) string
	tell func(string)
	open func() (*build.Models, error)
	// renewed read again the keys that came from files: the issuer of a token
	// replaces its file.
	renewed map[llm.Secret]func() (llm.Secret, error)
}

var _ session.Models = (*Source)(nil)

// failures in a row, as many as one call makes, have an endpoint left alone. Each
// step would otherwise wait for them anew before a fallback is asked.
const failures = 5

// atFirst limits the waits for a model's server that has never answered. A person waits, and an address with a mistake is
// likelier than a server that starts in the next minutes.
const atFirst = 10 * time.Second

// New returns a Source. tell shows the user a line.
func New(env func(string) string, tell func(string)) *Source {
	s := &Source{Log: slog.New(slog.DiscardHandler), env: env, tell: tell, renewed: map[llm.Secret]func() (llm.Secret, error){}}
	s.open = sync.OnceValues(s.models)
	return s
}

// models makes models with the user's own catalogue. Where DEFT_LLM_LOG names a
// directory, exchanges with providers are written to it.
func (s *Source) models() (*build.Models, error) {
	known, err := catalog.Load(catalog.UserFile(s.env))
	if s.forbidden(err, "going on without it") {
		known, err = catalog.Default(), nil
	}
	if err != nil {
		return nil, err
	}
	var exchanges *debuglog.Log
	if dir := s.env(debuglog.Variable); dir != "" {
		exchanges, err = debuglog.Open(dir, debuglog.Options{OnError: func(err error) { s.tell("deft: " + err.Error()) }})
		if err != nil {
			return nil, err
		}
	}
	m := build.NewModels(slog.New(slog.DiscardHandler), s.Profiles)
	m.Catalog, m.Priced, m.Breakers = known, true, broker.NewBreakers(broker.BreakerOptions{Failures: failures})
	m.AtFirst = atFirst
	m.Reread = func(key llm.Secret) func() (llm.Secret, error) { return s.renewed[key] }
	m.Complete = func(cfg *llm.Config) {
		completeAddress(cfg, s.env)
		if exchanges != nil {
			cfg.HTTPClient = exchanges.Client(cfg.ConnectTimeout, cfg.APIKey)
		}
	}
	return m, nil
}

// forbidden reports whether a file cannot be read because HOME is somebody else's, as
// under sudo, and says what happens then.
func (s *Source) forbidden(err error, then string) bool {
	if !errors.Is(err, fs.ErrPermission) {
		return false
	}
	s.tell("deft: note: " + err.Error() + "; " + then)
	return true
}

// completeAddress fills in values that a configuration leaves to the environment.
func completeAddress(cfg *llm.Config, env func(string) string) {
	cfg.BaseURL = cmp.Or(cfg.BaseURL, config.FirstSet(env, route.BaseVariables(cfg.Model)...))
	cfg.APIVersion = cmp.Or(cfg.APIVersion, config.FirstSet(env, route.VersionVariables(cfg.Model)...))
}

// Open implements [session.Models].
func (s *Source) Open(l *spec.LLM, o session.ModelOptions) (llm.Model, error) {
	m, err := s.open()
	if err != nil {
		return nil, err
	}
	loud := *m
	loud.Log = s.Log
	return loud.Open(l, o)
}

// Check refuses a model that no adapter knows.
func (s *Source) Check(l *spec.LLM) error {
	m, err := s.open()
	if err == nil {
		_, err = m.Adapter(l.Config(m.Catalog))
	}
	return err
}

// Single opens the model of flags without its fallbacks. Each call is tried once. Without
// a profile and a model, it is the agent's.
func (s *Source) Single(ctx context.Context, f *Flags) (llm.Model, error) {
	if f.Profile == "" && f.Model == "" {
		usual, err := s.Assigned()
		if err != nil {
			return nil, err
		}
		f.takeUsual(s, usual, false)
	}
	if err := f.checkProfile(s.env); err != nil {
		return nil, err
	}
	m, err := s.open()
	if err != nil {
		return nil, err
	}
	once := broker.Options{Attempts: 1}
	if f.Profile == "" {
		l, err := f.document(m, s.env)
		if err != nil {
			return nil, err
		}
		l.NumRetries = once.Attempts
		return m.Builder(nil, once, nil).Model(ctx, l, nil)
	}
	stores, err := s.Profiles()
	if err != nil {
		return nil, err
	}
	return m.Builder(stores.LLMs, once, nil).Single(ctx, f.Profile)
}

// Profiles opens the user's LLM profiles, which the agent server uses too.
func (s *Source) Profiles() (*profiles.Stores, error) {
	dir, err := config.PersistenceDir(s.env)
	if err != nil {
		return nil, err
	}
	ring, err := config.OpenRing(s.env, dir, s.tell)
	if err != nil {
		return nil, err
	}
	return profiles.Open(profiles.Options{Dir: dir, Keys: ring, Env: s.env}), nil
}

// Assigned says which profiles the user has given to services and agents.
func (s *Source) Assigned() (profiles.Assignments, error) {
	dir, err := config.PersistenceDir(s.env)
	if fault.Is(err, fault.Invalid) { // there is no home
		return profiles.Assignments{}, nil
	}
	if err != nil {
		return profiles.Assignments{}, err
	}
	all, err := profiles.ReadAssignments(nil, dir)
	if s.forbidden(err, "going on without them") {
		return profiles.Assignments{}, nil
	}
	return all, err
}

// profile describes the model of a profile, with the names of the profiles that
// it uses.
func (s *Source) profile(ctx context.Context, name, usage string) (*spec.LLM, error) {
	stores, err := s.Profiles()
	if err != nil {
		return nil, err
	}
	p, err := profile.Get(ctx, stores, name)
	if err != nil {
		return nil, err
	}
	load := func(ctx context.Context) (*spec.LLM, error) {
		return stores.LLMs.LoadWithKey(ctx, name, route.KeyVariables(p.LLM.Model))
	}
	l, err := load(ctx)
	if err != nil {
		return nil, err
	}
	if p.KeyFile != "" {
		s.renewed[l.APIKey] = func() (llm.Secret, error) {
			l, err := load(context.Background())
			if err != nil {
				return "", err
			}
			return l.APIKey, nil
		}
	}
	l = l.Clone(usage)
	l.Stream = true
	return l, nil
}
