package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/broker/debuglog"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/route"
)

// opener makes models with what the user's own catalogue says. Where
// DEFT_LLM_LOG names a directory, exchanges with providers are written to it.
type opener struct {
	std   *streams
	known *catalog.Catalog
	log   *debuglog.Log // nil for none
}

func newOpener(std *streams) (*opener, error) {
	known, err := catalog.Load(catalog.UserFile(std.env))
	if errors.Is(err, fs.ErrPermission) { // HOME is somebody else's, as under sudo
		fmt.Fprintln(std.err, "deft: note:", oneLine(err.Error())+"; going on without it")
		known, err = catalog.Default(), nil
	}
	if err != nil {
		return nil, err
	}
	o := &opener{std: std, known: known}
	if dir := std.env(debuglog.Variable); dir != "" {
		o.log, err = debuglog.Open(dir, debuglog.Options{OnError: func(err error) { fmt.Fprintln(std.err, "deft:", oneLine(err.Error())) }})
	}
	return o, err
}

func (o *opener) router() route.Router { return route.Router{Catalog: o.known} }

// connect makes the model of cfg, behind the layer that retries. key is asked
// for after the name and the address were checked.
func (o *opener) connect(cfg llm.Config, key func() (llm.Secret, error), b broker.Options) (llm.Model, error) {
	if _, err := o.router().New(cfg); err != nil {
		return nil, err
	}
	var err error
	if cfg.APIKey, err = key(); err != nil {
		return nil, err
	}
	cfg.HTTPClient = o.client(cfg)
	m, err := o.router().New(cfg)
	if err != nil {
		return nil, err
	}
	b.Catalog = o.known
	return broker.New(m, b), nil
}

// client is nil for the adapters' own.
func (o *opener) client(cfg llm.Config) *http.Client {
	if o.log == nil {
		return nil
	}
	return o.log.Client(cfg.ConnectTimeout, cfg.APIKey)
}

// complete fills in what a configuration leaves to the environment, and
// replaces what the catalogue says about how long prompts are kept in caches.
func (o *opener) complete(cfg *llm.Config, retention string) {
	cfg.BaseURL = first(cfg.BaseURL, firstSet(o.std, route.BaseVariables(cfg.Model)))
	cfg.APIVersion = first(cfg.APIVersion, firstSet(o.std, route.VersionVariables(cfg.Model)))
	if retention == "" {
		return
	}
	m, err := o.router().New(*cfg)
	if err != nil { // it will be said when the model is opened
		return
	}
	_, quirks := o.known.Describe(*cfg, m.Info().Provider)
	quirks.CacheRetention = retention == "24h"
	cfg.Quirks = &quirks
}
