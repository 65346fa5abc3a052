package broker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

const cooldown = time.Minute

// cool waits until an open breaker allows a probe, in the time of a bubble.
func cool() { time.Sleep(cooldown + time.Nanosecond) }

// guarded is a model behind a breaker that opens after three failures.
type guarded struct {
	*fake
	*broker.Broker
	breakers *broker.Breakers
	answer   error
}

func guard() *guarded {
	g := &guarded{fake: &fake{}}
	g.gen = func(int, llm.Request, func(llm.Delta)) (*llm.Response, error) {
		if g.answer != nil {
			return nil, g.answer
		}
		return &llm.Response{}, nil
	}
	g.breakers = broker.NewBreakers(broker.BreakerOptions{Failures: 3, Cooldown: cooldown})
	g.Broker = broker.New(g.fake, broker.Options{Attempts: 1, Breaker: g.breakers.For("http://x")})
	return g
}

func (g *guarded) call(answer error) error {
	g.answer = answer
	_, err := g.Broker.Generate(context.Background(), llm.Request{}, ignore)
	return err
}

func TestBreakerOpensAndCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := guard()
		for range 3 {
			if err := g.call(failure(fault.Unavailable)); err == nil {
				t.Fatal("no error")
			}
		}
		err := g.call(nil)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Code != broker.CodeCircuitOpen || !e.Retryable || e.RetryAfter.Round(time.Second) != cooldown || fault.KindOf(err) != fault.Unavailable || g.calls.Load() != 3 {
			t.Fatalf("an open breaker: %v after %d calls", err, g.calls.Load())
		}
		if g.breakers.For("http://y").Open() {
			t.Error("the breaker of another endpoint is open")
		}
		cool()
		if err := g.call(failure(fault.Timeout)); err == nil || g.calls.Load() != 4 {
			t.Fatalf("the probe: %v after %d calls", err, g.calls.Load())
		}
		if err := g.call(nil); err == nil || g.calls.Load() != 4 {
			t.Fatalf("a failed probe does not open again: %v", err)
		}
		cool()
		for range 2 {
			must.Succeed(t, g.call(nil))
		}
	})
}

func TestWhatCountsForTheBreaker(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		open bool
	}{
		"unavailable":           {failure(fault.Unavailable), true},
		"timeout":               {failure(fault.Timeout), true},
		"the caller's deadline": {failure(fault.Timeout, func(e *llm.Error) { e.Retryable = false }), false},
		"canceled":              {failure(fault.Canceled), false},
		"rate limit":            {failure(fault.RateLimit), false},
		"auth":                  {failure(fault.Auth), false},
		"context":               {failure(fault.Context), false},
		"an empty answer":       {failure(fault.Unavailable, func(e *llm.Error) { e.Code = llm.CodeEmpty }), false},
	} {
		g := guard()
		for range 3 {
			_ = g.call(tt.err)
		}
		if got := g.breakers.For("http://x").Open(); got != tt.open {
			t.Errorf("%s: open is %v", name, got)
		}
	}
	g := guard()
	for _, err := range []error{failure(fault.Unavailable), failure(fault.Unavailable), nil, failure(fault.Unavailable)} {
		_ = g.call(err)
	}
	if g.breakers.For("http://x").Open() {
		t.Error("failures that are not in a row open it")
	}
}

// TestOneProbe checks that a single call probes the endpoint, and that its
// first delta allows the others.
func TestOneProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := guard()
		for range 3 {
			_ = g.call(failure(fault.Unavailable))
		}
		cool()
		speak, spoken, end := make(chan bool), make(chan bool), make(chan bool)
		g.gen = func(n int, _ llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
			if n == 4 {
				speak <- true
				<-speak
				onDelta(llm.Delta{Text: "a"})
				close(spoken)
				<-end
			}
			return &llm.Response{}, nil
		}
		done := make(chan error)
		go func() {
			_, err := g.Broker.Generate(context.Background(), llm.Request{}, ignore)
			done <- err
		}()
		<-speak
		if _, err := g.Broker.Generate(t.Context(), llm.Request{}, ignore); err == nil || !strings.Contains(err.Error(), "checking whether") {
			t.Errorf("a second call beside the probe: %v", err)
		}
		speak <- true
		<-spoken
		if _, err := g.Broker.Generate(t.Context(), llm.Request{}, ignore); err != nil {
			t.Errorf("after the probe's first delta: %v", err)
		}
		close(end)
		must.Report(t, <-done)
	})
}

func TestCanceledProbeAllowsAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := guard()
		for range 3 {
			_ = g.call(failure(fault.Unavailable))
		}
		cool()
		_ = g.call(failure(fault.Canceled))
		if err := g.call(nil); err != nil {
			t.Errorf("after a canceled probe: %v", err)
		}
	})
}

// TestRetriesWaitForTheBreaker checks that a call to an open breaker waits for
// it and is then the probe.
func TestRetriesWaitForTheBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := guard()
		for range 3 {
			_ = g.call(failure(fault.Unavailable))
		}
		g.answer = nil
		var waits []time.Duration
		b := broker.New(g.fake, broker.Options{Breaker: g.breakers.For("http://x"), Random: none, Sleep: func(_ context.Context, d time.Duration) error {
			waits = append(waits, d)
			time.Sleep(d)
			return nil
		}})
		if _, err := b.Generate(t.Context(), llm.Request{}, ignore); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]time.Duration{cooldown + time.Nanosecond}, waits); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSkipOpenBreaker checks that a call uses the next model of a chain at once
// while the breaker of the first is open, and the first again when it works.
func TestSkipOpenBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, c := guard(), clock{}
		g.answer = failure(fault.Unavailable)
		first := broker.New(g.fake, broker.Options{SkipOpen: true, Breaker: g.breakers.For("http://x"), Random: none, Sleep: c.sleep})
		second := member("second", 0, nil)
		f, err := broker.NewFallback(nil, first, second)
		must.Succeed(t, err)
		for range 3 {
			if resp, err := f.Generate(t.Context(), llm.Request{}, ignore); err != nil || resp.Model != "second" {
				t.Fatal(resp, err)
			}
		}
		// The third failure opened the breaker: its waits, two, were the last.
		if diff := cmp.Diff([]time.Duration{8 * time.Second, 16 * time.Second}, c.waits); diff != "" || g.calls.Load() != 3 || second.calls.Load() != 3 {
			t.Errorf("%d and %d calls, waits %s", g.calls.Load(), second.calls.Load(), diff)
		}
		g.answer = nil
		cool()
		if _, err := f.Generate(t.Context(), llm.Request{}, ignore); err != nil || second.calls.Load() != 3 || g.calls.Load() != 4 {
			t.Errorf("when it works again: %v, %d and %d calls", err, g.calls.Load(), second.calls.Load())
		}
	})
}

func TestOpenBreakerReservesNothing(t *testing.T) {
	t.Parallel()
	g := guard()
	for range 3 {
		_ = g.call(failure(fault.Unavailable))
	}
	m := priced(func() float64 { return 0 })
	budget := broker.NewBudget(1)
	b := broker.New(m, broker.Options{Attempts: 1, Budget: budget, Breaker: g.breakers.For("http://x")})
	if _, err := b.Generate(t.Context(), ask("x"), ignore); err == nil || m.calls.Load() != 0 {
		t.Errorf("%v after %d calls", err, m.calls.Load())
	}
	if _, spent, reserved := budget.State(); spent != 0 || reserved != 0 {
		t.Errorf("spent %v, reserved %v", spent, reserved)
	}
}
