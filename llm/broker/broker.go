// Package broker wraps models with the services that all callers need: retries, a
// spending limit that is enforced before a call is made, a circuit breaker for
// each endpoint, fallbacks to other models, and a choice of model by the content
// of a request.
//
// # Usage
//
//	budget := broker.NewBudget(2.50)
//	m := broker.New(model, broker.Options{Budget: budget, OnRetry: show})
//	resp, err := m.Generate(ctx, request, onDelta)
//
// A Broker is a llm.Model, and so are [Fallback] and [ImageRouter], which
// combine several. Brokers may share one Budget, and the Breaker of their
// endpoint.
//
// # Concurrency
//
// Everything is safe for concurrent use. Hooks are called from the goroutine of
// their call.
//
// # Failure
//
// The error of the last attempt is returned unchanged. A call that could exceed
// the budget is refused with an error of kind Limit, and no request is made.
// Text delivered before a failed attempt is void: OnRetry is called before the
// next attempt delivers anything, so that a consumer can discard it.
package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/wait"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
)

// Options configure a Broker. The zero value retries as OpenHands does
// (docs/openhands/sdk-features.md section 1) and has no limits.
type Options struct {
	// Attempts is the maximum number of attempts. Default 5.
	Attempts int
	// AtFirst is how long a call waits in all, beside its first wait, while no server has answered at the endpoint,
	// whose address may be wrong. Default is no limit.
	AtFirst time.Duration
	// The wait before attempt n+1 is Multiplier·2^(n-1) seconds, at least
	// MinWait and at most MaxWait, less up to a quarter at random. Defaults 8,
	// 8 s and 64 s.
	Multiplier       float64
	MinWait, MaxWait time.Duration
	// LongestRetryAfter is the longest wait that a provider may request; a call
	// that would have to wait longer fails at once. Default 5 minutes.
	LongestRetryAfter time.Duration
	// Budget limits spending; nil for no limit.
	Budget *Budget
	// Breaker stops calls to an endpoint that keeps failing; nil for none.
	Breaker *Breaker
	// SkipOpen fails a call at once while the breaker is open, instead of
	// waiting for it. It is for models with a fallback.
	SkipOpen bool
	// Catalog has the prices of long prompts. Default the embedded one.
	Catalog *catalog.Catalog
	// Refresh returns the model with a new key. It is called at most once in a
	// call, after status 401, and the call is then repeated; nil for none.
	Refresh func(context.Context) (llm.Model, error)
	// NoImages reports whether a model was found to take no images before, and OnNoImages is
	// called when one is found that does not; nil for a Broker's own memory alone.
	NoImages   func(model string) bool
	OnNoImages func(model string)
	// OnRetry is called before each wait; nil for none.
	OnRetry func(Retry)
	// Sleep replaces waiting, and Random the source of jitter (0 to 1), in
	// tests.
	Sleep  func(context.Context, time.Duration) error
	Random func() float64
}

// Retry describes a failed attempt and the wait before the next.
type Retry struct {
	Info    llm.Info
	Attempt int // that failed, from 1
	Of      int // attempts in all
	Err     error
	Wait    time.Duration
	// Change says how the next attempt differs, in words after "asking again"; "" if it does not.
	Change string
	// Void reports that deltas of the failed attempt were delivered; they are
	// not part of the answer.
	Void bool
}

// Broker is a model with retries and a budget.
type Broker struct {
	served    atomic.Pointer[served]
	blind     atomic.Bool // the model was found to take no images
	reached   atomic.Bool // a server has answered
	opts      Options
	estimates calibration
}

// served is a model with its prices.
type served struct {
	llm.Model
	prices catalog.Prices
}

var _ llm.Model = (*Broker)(nil)

// New wraps a model.
func New(m llm.Model, o Options) *Broker {
	o.Attempts = max(1, cmp.Or(o.Attempts, 5))
	o.Multiplier = cmp.Or(o.Multiplier, 8)
	o.MinWait = cmp.Or(o.MinWait, 8*time.Second)
	o.MaxWait = max(cmp.Or(o.MaxWait, 64*time.Second), o.MinWait)
	o.LongestRetryAfter = cmp.Or(o.LongestRetryAfter, 5*time.Minute)
	if o.Catalog == nil {
		o.Catalog = catalog.Default()
	}
	if o.Sleep == nil {
		o.Sleep = wait.For
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	b := &Broker{opts: o}
	b.serve(m)
	return b
}

func (b *Broker) serve(m llm.Model) {
	b.served.Store(&served{m, b.opts.Catalog.Prices(m.Info())})
}

// Info implements llm.Model.
func (b *Broker) Info() llm.Info {
	info := b.served.Load().Info()
	info.Vision = info.Vision && !b.takesNoImages(info.Name)
	return info
}

func (b *Broker) takesNoImages(model string) bool {
	return b.blind.Load() || b.opts.NoImages != nil && b.opts.NoImages(model)
}

// Expect estimates the prompt of a request in tokens, on the high side,
// corrected by the provider's last count in the same conversation.
func (b *Broker) Expect(r llm.Request) int {
	n, _ := b.estimates.expect(&r)
	return n
}

// Generate implements llm.Model.
func (b *Broker) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	var fix repairs
	var useless discarded
	var waited time.Duration
	name := b.served.Load().Info().Name
	if b.takesNoImages(name) {
		r.Messages = withoutImages(r.Messages, imageOmitted)
	}
	for attempt := 1; ; attempt++ {
		resp, err := b.once(ctx, r, onDelta)
		if answered(err) {
			b.reached.Store(true)
		}
		if err == nil {
			if fix.blind && !b.blind.Swap(true) && b.opts.OnNoImages != nil {
				b.opts.OnNoImages(name)
			}
			return useless.before(resp), nil
		}
		useless.take(err)
		e, retry := b.worthRetrying(ctx, err, attempt)
		if e != nil {
			if change := b.repair(ctx, &fix, e, &r); change != "" {
				b.notify(Retry{Attempt: attempt, Of: b.opts.Attempts, Err: err, Void: e.Partial, Change: change})
				attempt--
				continue
			}
		}
		if !retry {
			return nil, useless.with(err)
		}
		wait := b.wait(attempt, e.RetryAfter)
		if b.opts.AtFirst > 0 && !b.reached.Load() && waited > 0 && waited+wait > b.opts.AtFirst {
			return nil, useless.with(err)
		}
		waited += wait
		b.notify(Retry{Attempt: attempt, Of: b.opts.Attempts, Err: err, Wait: wait, Void: e.Partial})
		if serr := b.opts.Sleep(ctx, wait); serr != nil {
			return nil, useless.with(canceled(e, serr))
		}
		r = adjusted(r, e)
	}
}

func (b *Broker) notify(r Retry) {
	if b.opts.OnRetry != nil {
		r.Info = b.Info()
		b.opts.OnRetry(r)
	}
}

// once makes one attempt, within the budget and if the breaker allows it.
func (b *Broker) once(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	m := b.served.Load()
	info := m.Info()
	expected, plain := b.estimates.expect(&r)
	var hold *Reservation
	if b.opts.Budget != nil {
		var err error
		if hold, err = b.opts.Budget.reserve(ctx, info, m.prices, expected, &r); err != nil {
			return nil, err
		}
		if r.MaxOutputTokens == 0 || r.MaxOutputTokens > hold.output {
			r.MaxOutputTokens = hold.output // no more than was reserved
		}
	}
	permit, err := b.opts.Breaker.allow(info)
	if err != nil {
		hold.Settle(0)
		return nil, err
	}
	delivered := 0
	most, tokens := longest(info, &r)
	call, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	resp, err := m.Generate(call, r, func(d llm.Delta) {
		if delivered > most {
			cut(errEndless)
			return
		}
		permit.answered()
		delivered += len(d.Text) + len(d.Reasoning)
		if d.ToolCall != nil {
			delivered += len(d.ToolCall.Arguments) + len(d.ToolCall.Name)
		}
		onDelta(d)
	})
	if err != nil && errors.Is(context.Cause(call), errEndless) {
		e := llm.NewError(fault.Unavailable, info.Provider, info.Name,
			fmt.Sprintf("the answer did not end at the limit of %d tokens, so it was cut", tokens), nil)
		e.Partial = true
		err = e
	}
	permit.report(err)
	if err == nil {
		b.estimates.learn(&r, plain, resp.Usage.Prompt)
		resp = repriced(resp, m.prices)
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		for i, d := range e.Discarded {
			d = repriced(d, m.prices)
			d.Served = &info
			e.Discarded[i] = d
		}
	}
	hold.settle(resp, err, m.prices, delivered)
	return resp, err
}

// errEndless ends a call whose answer is longer than the model can write.
var errEndless = errors.New("the answer does not end")

const (
	// unknownOutput is the longest answer of a model whose limit is unknown, in
	// tokens: more than models have.
	unknownOutput = 256 << 10
	// tokenBytes is more than tokens have on average.
	tokenBytes = 32
)

// longest returns the limit of an answer in bytes and in tokens.
func longest(info llm.Info, r *llm.Request) (bytes, tokens int) {
	tokens = cmp.Or(r.MaxOutputTokens, info.MaxOutput, unknownOutput)
	return max(tokens, minOutput) * tokenBytes, tokens
}

// repriced corrects a cost that ignores the prices of long prompts.
func repriced(r *llm.Response, p catalog.Prices) *llm.Response {
	if !r.CostKnown {
		return r
	}
	cost, ok := p.Correct(r.Usage, r.Cost)
	if !ok {
		return r
	}
	c := *r
	c.Cost = cost
	return &c
}

// settle replaces the reservation by the cost of an attempt that delivered this
// many bytes. Without a reservation it does nothing.
func (r *Reservation) settle(resp *llm.Response, err error, p catalog.Prices, delivered int) {
	switch {
	case r == nil:
	case err == nil && resp.CostKnown:
		r.end(resp.Cost, true)
	case err == nil: // without a usage, the reservation is the cost
		r.end(r.amount(), true)
	case billed(err) > 0:
		r.Settle(billed(err))
	case delivered > 0: // providers bill an interrupted answer
		cost, _ := p.At(r.prompt).Cost(llm.Usage{Prompt: r.prompt, Output: delivered/3 + 1})
		r.end(min(cost, r.amount()), false)
	default:
		r.Settle(0)
	}
}

// answered reports whether a server has answered a call that ended so.
func answered(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return err == nil || ok && !e.Unreached && e.Code != CodeCircuitOpen && !fault.Is(err, fault.Canceled)
}

// worthRetrying reports whether the same call may succeed later.
func (b *Broker) worthRetrying(ctx context.Context, err error, attempt int) (*llm.Error, bool) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return nil, false
	}
	switch {
	case !e.Retryable || attempt >= b.opts.Attempts || ctx.Err() != nil:
		return e, false
	case e.RetryAfter > b.opts.LongestRetryAfter:
		return e, false
	case b.opts.SkipOpen && (e.Code == CodeCircuitOpen || b.opts.Breaker.Open()):
		return e, false
	}
	switch fault.KindOf(err) {
	case fault.RateLimit, fault.Unavailable, fault.Timeout:
		return e, true
	}
	return e, false
}

// wait returns the exponential wait with jitter, or the wait that the provider
// requested.
func (b *Broker) wait(attempt int, asked time.Duration) time.Duration {
	w := b.opts.MaxWait
	if shift := attempt - 1; shift < 30 {
		seconds := b.opts.Multiplier * float64(int(1)<<shift)
		if seconds < b.opts.MaxWait.Seconds() {
			w = time.Duration(seconds * float64(time.Second))
		}
	}
	w = max(w, b.opts.MinWait)
	w -= time.Duration(b.opts.Random() * float64(w) / 4)
	if asked > 0 {
		// Jitter, so that not all clients retry at the same time.
		return asked + time.Duration(b.opts.Random()*float64(min(asked/8, time.Second)))
	}
	return w
}

// adjusted changes a request whose answer was empty: without randomness the
// next one would be empty, too.
func adjusted(r llm.Request, e *llm.Error) llm.Request {
	if e.Code == llm.CodeEmpty && r.Temperature != nil && *r.Temperature == 0 {
		warm := 1.0
		r.Temperature = &warm
	}
	return r
}

func canceled(e *llm.Error, cause error) error {
	kind := fault.Canceled
	if errors.Is(cause, context.DeadlineExceeded) {
		kind = fault.Timeout
	}
	return llm.NewError(kind, e.Provider, e.Model, "the call was canceled while it waited", e)
}
