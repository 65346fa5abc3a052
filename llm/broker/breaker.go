package broker

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// CodeCircuitOpen is the Code of the error of a call that was not made because
// its endpoint kept failing.
const CodeCircuitOpen = "circuit_open"

// BreakerState is the state of a Breaker.
type BreakerState string

// The states: all calls are allowed; none is; a single one is, to probe whether
// the endpoint works again.
const (
	Closed   BreakerState = "closed"
	Open     BreakerState = "open"
	HalfOpen BreakerState = "half_open"
)

// BreakerOptions configure breakers.
type BreakerOptions struct {
	// Failures is how many consecutive calls must fail for the breaker to open.
	// Default 10: the five attempts of one conversation are not enough.
	Failures int
	// Cooldown is how long an open breaker blocks all calls. Default 30 s.
	Cooldown time.Duration
	// OnChange is called after each change of state, outside the lock; nil for
	// none.
	OnChange func(endpoint string, from, to BreakerState)
	// Now replaces the clock, for tests.
	Now func() time.Time
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
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Breakers{opts: o, by: map[string]*Breaker{}}
}

// For returns the breaker of an endpoint: its base URL, or the provider's name
// for the provider's own endpoint.
func (s *Breakers) For(endpoint string) *Breaker {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.by[endpoint]
	if b == nil {
		b = &Breaker{opts: s.opts, endpoint: endpoint, state: Closed}
		s.by[endpoint] = b
	}
	return b
}

// Breaker blocks calls to an endpoint that keeps failing: they would only run
// into their time limits and slow its recovery. Only failures of the endpoint
// count (no connection, timeout, status 5xx); a refusal shows that it works.
type Breaker struct {
	opts     BreakerOptions
	endpoint string

	mu         sync.Mutex
	state      BreakerState
	failures   int       // in a row
	until      time.Time // of Open
	probing    bool      // the single call of HalfOpen is under way
	generation int       // counts changes of state; results of earlier generations are ignored
}

// State returns the state. A nil breaker is closed.
func (b *Breaker) State() BreakerState {
	if b == nil {
		return Closed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == Open && !b.opts.Now().Before(b.until) {
		return HalfOpen
	}
	return b.state
}

// permit allows one call.
type permit struct {
	b          *Breaker
	generation int
	probe      bool
	reported   bool
}

// allow returns a permit for one call, or an error while calls are blocked. A
// nil breaker returns a nil permit, which reports nothing.
func (b *Breaker) allow(info llm.Info) (*permit, error) {
	if b == nil {
		return nil, nil
	}
	b.mu.Lock()
	from := b.state
	if b.state == Open && !b.opts.Now().Before(b.until) {
		b.enter(HalfOpen)
	}
	p := &permit{b: b, generation: b.generation, probe: b.state == HalfOpen}
	var err error
	switch {
	case b.state == Open:
		err = b.refuse(info, b.until.Sub(b.opts.Now()))
	case b.state == HalfOpen && b.probing:
		err = b.refuse(info, 0)
	case b.state == HalfOpen:
		b.probing = true
	}
	to := b.state
	b.mu.Unlock()
	b.notify(from, to)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// refuse is called with the lock held. left is how long the breaker stays open,
// 0 while another call probes the endpoint.
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
	if p != nil && p.probe && !p.reported {
		p.report(nil)
	}
}

// report records the result of the call; only the first report counts.
func (p *permit) report(err error) {
	if p == nil || p.reported {
		return
	}
	p.reported = true
	b := p.b
	b.mu.Lock()
	from := b.state
	if p.generation == b.generation {
		b.count(healthOf(err))
	}
	to := b.state
	b.mu.Unlock()
	b.notify(from, to)
}

// count is called with the lock held.
func (b *Breaker) count(v health) {
	switch {
	case v == unknownHealth:
		b.probing = false
	case v == healthy:
		b.failures = 0
		if b.state == HalfOpen {
			b.enter(Closed)
		}
	default:
		b.failures++
		if b.state == HalfOpen || b.failures >= b.opts.Failures {
			b.until = b.opts.Now().Add(b.opts.Cooldown)
			b.enter(Open)
		}
	}
}

// enter is called with the lock held.
func (b *Breaker) enter(s BreakerState) {
	b.state, b.probing, b.failures = s, false, 0
	b.generation++
}

func (b *Breaker) notify(from, to BreakerState) {
	if from != to && b.opts.OnChange != nil {
		b.opts.OnChange(b.endpoint, from, to)
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
