package broker

import (
	"context"
	"errors"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// Fallback is a chain of models: when one fails after all its retries, the next
// makes the call (docs/openhands/sdk-features.md section 1, "Fallback").
//
// The next model is called after errors that are also retried (rate limit,
// outage, timeout), and after a prompt that exceeds the context window if the
// next one has a larger window. No other error leads to the next model: above
// all, a fallback must not circumvent a spending limit or an exhausted quota.
type Fallback struct {
	chain    []llm.Model
	onSwitch func(Switched)
}

// Switched describes a call that moves to the next model.
type Switched struct {
	From, To llm.Info
	Err      error
	// Void reports that deltas of the failed call were delivered; they are not
	// part of the answer.
	Void bool
}

var _ llm.Model = (*Fallback)(nil)

// NewFallback returns a chain of models, each with its own retries. onSwitch is
// called before the next model is called; nil for none. An empty chain is an
// error of kind Invalid.
func NewFallback(onSwitch func(Switched), chain ...llm.Model) (*Fallback, error) {
	if len(chain) == 0 || slices.Contains(chain, nil) {
		return nil, fault.New(fault.Invalid, "a fallback chain needs at least one model")
	}
	if onSwitch == nil {
		onSwitch = func(Switched) {}
	}
	return &Fallback{slices.Clone(chain), onSwitch}, nil
}

// Info implements llm.Model. It describes the first model.
func (f *Fallback) Info() llm.Info { return f.chain[0].Info() }

// Generate implements llm.Model. The error comes from the last model called.
func (f *Fallback) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	at := 0
	var useless discarded
	for {
		resp, err := f.chain[at].Generate(ctx, r, onDelta)
		if err == nil {
			return useless.before(servedBy(resp, f.chain[at])), nil
		}
		useless.take(err)
		if ctx.Err() != nil {
			return nil, useless.with(err)
		}
		next := f.next(at, err, &r)
		if next < 0 {
			return nil, useless.with(err)
		}
		e, _ := errors.AsType[*llm.Error](err)
		f.onSwitch(Switched{From: f.chain[at].Info(), To: f.chain[next].Info(), Err: err, Void: e != nil && e.Partial})
		at = next
	}
}

// servedBy records in an answer which of several models gave it, unless a layer
// below has already recorded its choice.
func servedBy(r *llm.Response, m llm.Model) *llm.Response {
	if r.Served != nil {
		return r
	}
	info, c := m.Info(), *r
	c.Served = &info
	return &c
}

// next returns the index of the next model for an error, or -1.
func (f *Fallback) next(at int, err error, r *llm.Request) int {
	if _, ok := errors.AsType[*llm.Error](err); !ok {
		return -1
	}
	switch fault.KindOf(err) {
	case fault.RateLimit, fault.Unavailable, fault.Timeout:
		if at+1 < len(f.chain) {
			return at + 1
		}
	case fault.Context:
		return f.larger(at, llm.EstimateTokens(r.Messages, r.Tools))
	}
	return -1
}

// larger returns the next model with a larger context window than one that the
// prompt exceeded. Estimates are too high: they exclude only models with less
// than half the window needed.
func (f *Fallback) larger(at, estimate int) int {
	was := f.chain[at].Info().ContextWindow
	for i := at + 1; i < len(f.chain); i++ {
		window := f.chain[i].Info().ContextWindow
		if window == 0 || window > was && window > estimate/2 {
			return i
		}
	}
	return -1
}
