package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/broker/debuglog"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/settings/profiles"
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
