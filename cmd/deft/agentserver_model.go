package main

import (
	"context"
	"log/slog"
	"strings"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/spec"
)

// modules are the tools whose Python module of the reference is the path of
// their name (docs/openhands/sdk-wire-1.58.md section B.3).
var modules = []string{
	"terminal", "file_editor", "task_tracker", "glob", "grep", "planning_file_editor", "apply_patch",
}

// toolModules returns the reference's Python modules of an agent's tools, so
// that a client that knows only the conversation can read its events.
func toolModules(a *spec.Agent) map[string]string {
	out := map[string]string{}
	for _, t := range a.Tools {
		for _, name := range modules {
			if t.Name == name {
				out[name] = "openhands.tools." + name + ".definition"
			}
		}
	}
	return out
}

// wireModel is the model of an LLM of the wire: its calls have the LLM's
// settings.
type wireModel struct {
	llm.Model
	l *spec.LLM
}

// Generate implements [llm.Model].
func (m wireModel) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	return m.Model.Generate(ctx, m.l.Request(r), onDelta)
}

// wireModels opens the models of LLMs of the wire, behind the layer that
// retries.
type wireModels struct {
	breakers *broker.Breakers
	log      *slog.Logger
}

func (w wireModels) open(l *spec.LLM, retried func(controller.Retry, error)) (llm.Model, error) {
	if unused := l.Unused(); len(unused) > 0 {
		w.log.Warn("settings of the LLM have no effect here", "model", l.Model, "settings", unused)
	}
	cfg := l.Config(nil)
	m, err := route.New(cfg)
	if err != nil {
		return nil, err
	}
	provider, _, _ := strings.Cut(l.Model, "/")
	o := l.Broker(broker.Options{
		Breaker: w.breakers.For(first(cfg.BaseURL, provider)),
		OnRetry: func(r broker.Retry) { retried(retryOf(r), r.Err) },
	})
	return wireModel{broker.New(m, o), l}, nil
}
