package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
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

// opener makes models with the user's own catalogue. Where DEFT_LLM_LOG names a
// directory, exchanges with providers are written to it.
type opener struct {
	std   *streams
	known *catalog.Catalog
	log   *debuglog.Log // nil for none
}

func newOpener(std *streams) (*opener, error) {
	known, err := catalog.Load(catalog.UserFile(std.Env))
	if errors.Is(err, fs.ErrPermission) { // HOME is somebody else's, as under sudo
		fmt.Fprintln(std.Err, "deft: note:", stdio.OneLine(err.Error())+"; going on without it")
		known, err = catalog.Default(), nil
	}
	if err != nil {
		return nil, err
	}
	o := &opener{std: std, known: known}
	if dir := std.Env(debuglog.Variable); dir != "" {
		o.log, err = debuglog.Open(dir, debuglog.Options{OnError: func(err error) { fmt.Fprintln(std.Err, "deft:", stdio.OneLine(err.Error())) }})
	}
	return o, err
}

func (o *opener) router() route.Router { return route.Router{Catalog: o.known} }

// client is nil for the adapters' own.
func (o *opener) client(cfg llm.Config) *http.Client {
	if o.log == nil {
		return nil
	}
	return o.log.Client(cfg.ConnectTimeout, cfg.APIKey)
}

// complete fills in values that a configuration leaves to the environment.
func (o *opener) complete(cfg *llm.Config) {
	cfg.BaseURL = first(cfg.BaseURL, firstSet(o.std, route.BaseVariables(cfg.Model)))
	cfg.APIVersion = first(cfg.APIVersion, firstSet(o.std, route.VersionVariables(cfg.Model)))
}

// builder makes the models of LLMs, behind the layer that retries and keeps the
// budget. A key in LLM_API_KEY is not used for profiles: it would be shown to a
// provider that it does not belong to.
func (o *opener) builder(saved *profiles.LLMs, b broker.Options, breakers *broker.Breakers, onSwitch func(broker.Switched)) *profiles.Builder {
	b.Catalog = o.known
	return &profiles.Builder{
		Profiles: saved, Open: o.router().New, Catalog: o.known, KeyVariables: route.KeyVariables, Broker: b, Breakers: breakers, OnSwitch: onSwitch,
		Complete: func(cfg *llm.Config) {
			o.complete(cfg)
			cfg.HTTPClient = o.client(*cfg)
		},
	}
}

// profileModels implements [session.Models] for LLMs that name saved profiles as
// their fallbacks or for images; others opens the rest.
type profileModels struct {
	others   session.Models
	profiles func() (*profiles.Stores, error)
	breakers *broker.Breakers
}

// Open implements [session.Models].
func (m profileModels) Open(l *spec.LLM, o session.ModelOptions) (llm.Model, error) {
	if len(l.Profiles()) == 0 {
		return m.others.Open(l, o)
	}
	saved, err := m.profiles()
	if err != nil {
		return nil, err
	}
	h := recording(l, o)
	b := profiles.Builder{
		Profiles: saved.LLMs, Open: route.New, KeyVariables: route.KeyVariables, Breakers: m.breakers,
		Broker: broker.Options{Budget: o.Budget, OnRetry: h.retry}, OnSwitch: h.switched,
	}
	return b.Model(context.Background(), l, nil) // which reads files and makes no request
}

// recording are hooks that record retries and switches of the LLM l.
func recording(l *spec.LLM, o session.ModelOptions) hooks {
	if o.Retried == nil {
		return hooks{}
	}
	return hooks{
		retry: func(r broker.Retry) {
			o.Retried(build.RetryOf(l.UsageID, r), r.Err)
		},
		switched: func(s broker.Switched) {
			o.Retried(controller.Retry{UsageID: l.UsageID, Model: s.From.Name, Next: s.To.Name, Void: s.Void}, s.Err)
		},
	}
}

// hooks are called about calls of models.
type hooks struct {
	retry    func(broker.Retry)
	switched func(broker.Switched)
}

// failures in a row, as many as one call makes, have an endpoint left alone. Each
// step would otherwise wait for them anew before a fallback is asked.
const failures = 5

// openProfiles opens the user's LLM profiles, which the agent server uses too.
func openProfiles(std *streams) (*profiles.Stores, error) {
	dir, err := config.PersistenceDir(std.Env)
	if err != nil {
		return nil, err
	}
	ring, err := openRing(std, dir)
	if err != nil {
		return nil, err
	}
	return profiles.Open(profiles.Options{Dir: dir, Keys: ring, Env: std.Env}), nil
}

// assigned says which profiles the user has given to services and agents.
func assigned(std *streams) (profiles.Assignments, error) {
	dir, err := config.PersistenceDir(std.Env)
	if fault.Is(err, fault.Invalid) { // there is no home
		return profiles.Assignments{}, nil
	}
	if err != nil {
		return profiles.Assignments{}, err
	}
	all, err := profiles.ReadAssignments(nil, dir)
	if errors.Is(err, fs.ErrPermission) { // HOME is somebody else's, as under sudo
		fmt.Fprintln(std.Err, "deft: note:", stdio.OneLine(err.Error())+"; going on without them")
		return profiles.Assignments{}, nil
	}
	return all, err
}

// openRing opens the keys that seal stored secrets, which the agent server uses
// too: the one that the environment names for it, else the one in its
// persistence directory; without a home, the one in dir. Those that were current before
// are in OH_PREVIOUS_SECRET_KEYS. Its settings file is not read: it lies below the
// working directory, which may be a hostile project.
func openRing(std *streams, dir string) (*keyring.Ring, error) {
	configured := firstSet(std, []string{"OH_SECRET_KEY", "SESSION_API_KEY", "OH_SESSION_API_KEYS_0"})
	previous, err := config.PreviousKeys(std.Env)
	if err != nil {
		return nil, err
	}
	own, err := config.PersistenceDir(std.Env)
	if fault.Is(err, fault.Invalid) { // there is no home
		return keyring.Load(dir, configured, previous...)
	}
	if err != nil {
		return nil, err
	}
	ring, err := keyring.Load(own, configured, previous...)
	if errors.Is(err, fs.ErrPermission) { // HOME is somebody else's, as under sudo
		fmt.Fprintln(std.Err, "deft: note:", stdio.OneLine(err.Error())+"; going on with a key in "+dir)
		return keyring.Load(dir, configured, previous...)
	}
	return ring, err
}
