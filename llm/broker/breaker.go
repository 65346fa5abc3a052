package broker

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// CodeCircuitOpen is the Code of the error of a call that was not made because
// its endpoint kept failing.
const CodeCircuitOpen = "circuit_open"

// BreakerOptions configure breakers.
type BreakerOptions struct {
	// Failures is how many consecutive calls must fail for the breaker to open.
	// Default 10: the five attempts of one conversation are not enough.
	Failures int
	// Cooldown is how long an open breaker blocks all calls. Default 30 s.
	Cooldown time.Duration
}

// Breakers has one breaker for each endpoint, so that all models of an endpoint
// share its state. It is safe for concurrent use.
type Breakers struct {
	opts BreakerOptions
	mu   sync.Mutex
	by   map[string]*Breaker
}

// NewBreakers returns an empty set.
func NewBreakers(o BreakerOptions) *Breakers {
	o.Failures = max(1, cmp.Or(o.Failures, 10))
	o.Cooldown = cmp.Or(o.Cooldown, 30*time.Second)
	return &Breakers{opts: o, by: map[string]*Breaker{}}
}

// For returns the breaker of an endpoint: its base URL, or the provider's name
// for the provider's own endpoint.
func (s *Breakers) For(endpoint string) *Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.by[endpoint]
	if b == nil {
		b = newBreaker(s.opts)
		s.by[endpoint] = b
	}
	return b
}

// Breaker blocks calls to an endpoint that keeps failing: they would only run
// into their time limits and slow its recovery. After a time a single call probes
// whether it works again. Only failures of the endpoint count (no connection,
// timeout, status 5xx); a refusal shows that it works.
type Breaker struct {
	opts  BreakerOptions
	calls *gobreaker.TwoStepCircuitBreaker[any]
	until atomic.Pointer[time.Time] // of the open state; nil before the first one
}

func newBreaker(o BreakerOptions) *Breaker {
	b := &Breaker{opts: o}
	b.calls = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:      o.Cooldown,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= o.Failures },
		IsSuccessful: func(err error) bool { return healthOf(err) == healthy },
		IsExcluded:   func(err error) bool { return healthOf(err) == unknownHealth },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				until := time.Now().Add(o.Cooldown)
				b.until.Store(&until)
			}
		},
	})
	return b
}

// Open reports whether all calls are blocked. A nil breaker is closed.
func (b *Breaker) Open() bool { return b != nil && b.calls.State() == gobreaker.StateOpen }

// permit allows one call.
type permit struct {
	done  func(error)
	probe bool
}

// allow returns a permit for one call, or an error while calls are blocked. A
// nil breaker returns a nil permit, which reports nothing.
func (b *Breaker) allow(info llm.Info) (*permit, error) {
	if b == nil {
		return nil, nil
	}
	done, err := b.calls.Allow()
	switch {
	case errors.Is(err, gobreaker.ErrOpenState):
		return nil, b.refuse(info, max(time.Until(*b.until.Load()), 0)+time.Nanosecond) // it allows a probe after the time, not at it
	case err != nil:
		return nil, b.refuse(info, 0)
	}
	return &permit{done: done, probe: b.calls.State() == gobreaker.StateHalfOpen}, nil
}

// refuse returns the error of a call that is not made. left is how long the breaker
// stays open, 0 while another call probes the endpoint.
func (b *Breaker) refuse(info llm.Info, left time.Duration) *llm.Error {
	msg := "the endpoint kept failing; another call is checking whether it works again"
	if left > 0 {
		msg = fmt.Sprintf("the endpoint failed %d times in a row; no calls are made for %v", b.opts.Failures, left.Round(time.Second))
	}
	e := llm.NewError(fault.Unavailable, info.Provider, info.Name, msg, nil)
	e.Code, e.Retryable, e.RetryAfter = CodeCircuitOpen, true, left
	return e
}

// answered reports success as soon as the answer has begun: a probe need not
// end to show that the endpoint works.
func (p *permit) answered() {
	if p != nil && p.probe {
		p.report(nil)
	}
}

// report records the result of the call; only the first report counts.
func (p *permit) report(err error) {
	if p != nil && p.done != nil {
		p.done(err)
		p.done = nil
	}
}

// health is the state of an endpoint that the result of a call shows.
type health int

const (
	unknownHealth health = iota // the caller canceled the call
	healthy
	failing
)

func healthOf(err error) health {
	if err == nil {
		return healthy
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return unknownHealth
	}
	switch fault.KindOf(err) {
	case fault.Canceled:
		return unknownHealth
	case fault.Timeout:
		if !e.Retryable { // the caller's own deadline
			return unknownHealth
		}
		return failing
	case fault.Unavailable:
		if e.Code == llm.CodeEmpty { // the endpoint did answer
			return healthy
		}
		return failing
	}
	return healthy
}
