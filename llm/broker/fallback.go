package broker

import (
	"context"
	"errors"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// Fallback is a chain of models: when one fails after all its retries, the
// next makes the call (sdk-features.md section 1, "Fallback").
//
// The next is tried for what retries are made for (rate limits, an endpoint
// that is down, no answer in time), and, where the prompt does not fit a
// model's context window, if its own is larger. Nothing else moves a call on:
// above all not a spending limit or a used-up allowance, which would make a
// call to another model a way around it.
type Fallback struct {
	chain    []llm.Model
	onSwitch func(Switched)
}

// Switched describes a call that moves on to the next model.
type Switched struct {
	Service  string // that called, as [WithService] says; "" if not said
	From, To llm.Info
	Err      error
	// Void says that deltas of the failed call were handed out; they are not
	// part of the answer.
	Void bool
}

var _ llm.Model = (*Fallback)(nil)

// NewFallback returns a chain of models, each with its own retries. onSwitch is
// called before the next model is asked; nil for none. An empty chain is an
// error of kind Invalid.
func NewFallback(onSwitch func(Switched), chain ...llm.Model) (*Fallback, error) {
	if len(chain) == 0 || slices.Contains(chain, nil) {
		return nil, fault.New(fault.Invalid, "a chain of models needs at least one")
	}
	if onSwitch == nil {
		onSwitch = func(Switched) {}
	}
	return &Fallback{slices.Clone(chain), onSwitch}, nil
}

// Info implements llm.Model. It describes the first model.
func (f *Fallback) Info() llm.Info { return f.chain[0].Info() }

// Generate implements llm.Model. The error is that of the last model asked.
func (f *Fallback) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	at := 0
	for {
		resp, err := f.chain[at].Generate(ctx, r, onDelta)
		if err == nil {
			return servedBy(resp, f.chain[at]), nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		next := f.next(at, err, &r)
		if next < 0 {
			return nil, err
		}
		e, _ := errors.AsType[*llm.Error](err)
		f.onSwitch(Switched{Service: serviceOf(ctx), From: f.chain[at].Info(), To: f.chain[next].Info(), Err: err, Void: e != nil && e.Partial})
		at = next
	}
}

// servedBy notes in an answer which of several models gave it, unless a layer
// below chose and has noted its choice.
func servedBy(r *llm.Response, m llm.Model) *llm.Response {
	if r.Served != nil {
		return r
	}
	info, c := m.Info(), *r
	c.Served = &info
	return &c
}

// next returns which model stands in for a failed one, or -1.
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

// larger returns the next model whose window is larger than that of one which
// could not hold a prompt. Estimates are on the high side: they rule out only
// what is half as large as needed.
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
