package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/broker/debuglog"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/route"
)

// connect makes the model of cfg with what the user's own catalogue says, and
// behind the layer that retries. key is asked for after the name and the
// address were checked. Where DEFT_LLM_LOG names a directory, exchanges with
// the provider are written to it.
func connect(std *streams, cfg llm.Config, key func() (llm.Secret, error), o broker.Options) (llm.Model, error) {
	known, err := catalog.Load(catalog.UserFile(std.env))
	if errors.Is(err, fs.ErrPermission) { // HOME is somebody else's, as under sudo
		fmt.Fprintln(std.err, "deft: note:", oneLine(err.Error())+"; going on without it")
		known, err = catalog.Default(), nil
	}
	if err != nil {
		return nil, err
	}
	router := route.Router{Catalog: known}
	if _, err := router.New(cfg); err != nil {
		return nil, err
	}
	if cfg.APIKey, err = key(); err != nil {
		return nil, err
	}
	if dir := std.env(debuglog.Variable); dir != "" {
		log, err := debuglog.Open(dir, debuglog.Options{OnError: func(err error) { fmt.Fprintln(std.err, "deft:", oneLine(err.Error())) }})
		if err != nil {
			return nil, err
		}
		cfg.HTTPClient = log.Client(cfg.ConnectTimeout, cfg.APIKey)
	}
	m, err := router.New(cfg)
	if err != nil {
		return nil, err
	}
	o.Catalog = known
	return broker.New(m, o), nil
}
