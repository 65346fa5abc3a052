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

// CodeCircuitOpen is the Code of an error of a call that was not made because
// its endpoint kept failing.
const CodeCircuitOpen = "circuit_open"

// BreakerState is what a Breaker does with calls.
type BreakerState string

// The states: all calls pass; none does; one does, to see whether the endpoint
// is well again.
const (
	Closed   BreakerState = "closed"
	Open     BreakerState = "open"
	HalfOpen BreakerState = "half_open"
)

// BreakerOptions configure breakers.
type BreakerOptions struct {
	// Failures is how many calls in a row must fail for the breaker to open.
	// Default 10: one conversation's five attempts are not enough.
	Failures int
	// Cooldown is how long an open breaker lets no call pass. Default 30 s.
	Cooldown time.Duration
	// OnChange is called after each change of state, outside the lock; nil for
	// none.
	OnChange func(endpoint string, from, to BreakerState)
	// Now replaces the clock, for tests.
	Now func() time.Time
}

// Breakers holds one breaker for each endpoint, so that all models behind it
// share what is known about its health. It is safe for concurrent use.
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
// where that is the provider's own.
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

// Breaker keeps calls away from an endpoint that keeps failing: calls would
// only wait for their time limits and keep it from recovering. Only failures
// of the endpoint count (no connection, no answer in time, status 5xx); what
// it refuses for a reason shows that it works.
type Breaker struct {
	opts     BreakerOptions
	endpoint string

	mu         sync.Mutex
	state      BreakerState
	failures   int       // in a row
	until      time.Time // of Open
	probing    bool      // the one call of HalfOpen is on its way
	generation int       // counts changes of state: calls of an earlier one say nothing
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

// permit is the leave to make one call.
type permit struct {
	b          *Breaker
	generation int
	probe      bool
	reported   bool
}

// allow asks for leave to call. A nil breaker always gives it.
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
	b.tell(from, to)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// refuse is called with the lock held. left is how long the breaker stays
// open, 0 while another call finds out.
func (b *Breaker) refuse(info llm.Info, left time.Duration) *llm.Error {
	msg := "the endpoint kept failing; one call is finding out whether it works again"
	if left > 0 {
		msg = fmt.Sprintf("the endpoint failed %d times in a row and is left alone for %v", b.opts.Failures, left.Round(time.Second))
	}
	e := llm.NewError(fault.Unavailable, info.Provider, info.Name, msg, nil)
	e.Code, e.Retryable, e.RetryAfter = CodeCircuitOpen, true, left
	return e
}

// begun says that the answer has begun to arrive: a probe need not end to show
// that the endpoint works.
func (p *permit) answered() {
	if p != nil && p.probe && !p.reported {
		p.report(nil)
	}
}

// report says how the call went; only the first report counts.
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
	b.tell(from, to)
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

func (b *Breaker) tell(from, to BreakerState) {
	if from != to && b.opts.OnChange != nil {
		b.opts.OnChange(b.endpoint, from, to)
	}
}

// health is what a call says about its endpoint.
type health int

const (
	unknownHealth health = iota // it was given up by the caller
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
		if e.Code == llm.CodeEmpty { // the model said nothing; the endpoint did answer
			return healthy
		}
		return failing
	}
	return healthy
}
