// Package probe finds out the real abilities of a model, by asking it small
// questions: whether it answers, streams, calls a tool and sees an image, and how
// long its context is.
//
// # Usage
//
//	report, err := probe.Model(ctx, model, probe.Options{Timeout: time.Minute}, show)
//
// # Concurrency
//
// The questions of one call are asked one after another; calls are independent.
//
// # Failure
//
// A missing ability is a [Result] that is not OK. An error is returned only where the
// context ends or show fails. The texts of results may hold text of the model: they
// are not safe for a terminal.
package probe

import (
	"context"
	"time"

	"github.com/deft-dev/deft/llm"
)

// Options choose the questions.
type Options struct {
	// Effort is how long the model thinks; "" for its default.
	Effort string
	// Timeout is how long each question may take; required.
	Timeout time.Duration
	// ContextUpTo is the longest prompt, in tokens, of a search for the real
	// context length; 0 for no search. Such prompts can cost.
	ContextUpTo int
}

// Result is the answer to one question.
type Result struct {
	// Name is short and stable: answer, streaming, tools, images, length.
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	// Err is why the question could not be asked; nil if it was answered.
	Err error `json:"-"`
}

// Report has the answers to all questions.
type Report struct {
	Model    string   `json:"model"`
	Provider string   `json:"provider"`
	Checks   []Result `json:"checks"`
	Length   *Length  `json:"context_length,omitempty"` // nil if it was not searched for
	// FirstToken in seconds, and the speed of the output after it; 0 if unknown.
	FirstToken      float64  `json:"first_token_seconds"`
	TokensPerSecond float64  `json:"tokens_per_second"`
	Cost            *float64 `json:"cost"` // US dollars; nil: unknown
	// Failure is why the model does not answer at all; nil if it does.
	Failure error `json:"-"`
}

// Model asks a model four short questions, once each, then searches for its context
// length if that is wanted. Where it does not answer the first one, nothing else is
// asked. Each result is handed to show at once.
func Model(ctx context.Context, m llm.Model, o Options, show func(Result) error) (Report, error) {
	p := &prober{model: m, effort: o.Effort}
	r := Report{Model: m.Info().Name, Provider: m.Info().Provider}
	add := func(k Result) error {
		r.Checks = append(r.Checks, k)
		if err := show(k); err != nil {
			return err
		}
		return ctx.Err()
	}
	for _, ask := range []func(context.Context) Result{p.answers, p.streams, p.calls, p.sees} {
		k := within(ctx, o.Timeout, ask)
		if err := add(k); err != nil {
			return r, err
		}
		if k.Name == "answer" && k.Err != nil {
			r.Failure = k.Err
			break
		}
	}
	if o.ContextUpTo > 0 && r.Failure == nil {
		// Its questions are long: all of them together have the time of twelve.
		k := within(ctx, o.Timeout*lengthCalls, func(ctx context.Context) Result {
			found, k := p.length(ctx, o.ContextUpTo)
			r.Length = &found
			return k
		})
		if err := add(k); err != nil {
			return r, err
		}
	}
	if p.unpriced == 0 {
		r.Cost = &p.cost
	}
	r.FirstToken, r.TokensPerSecond = p.firstToken.Seconds(), p.speed
	return r, nil
}

func within(ctx context.Context, limit time.Duration, ask func(context.Context) Result) Result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return ask(ctx)
}

// prober asks one model.
type prober struct {
	model  llm.Model
	effort string
	// cost of all calls in US dollars, and how many had no price.
	cost     float64
	unpriced int
	// firstToken is the time to the first piece of the streamed answer, speed how many
	// tokens a second followed; 0 if it is unknown.
	firstToken time.Duration
	speed      float64
}
