package main

import (
	"context"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

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
