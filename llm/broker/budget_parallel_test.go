package broker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

// slow is a model of which each call costs a dime, ten times its estimate, and goes on until open is closed.
func slow(open chan struct{}) *fake {
	m := priced(nil)
	m.gen = func(int, llm.Request, func(llm.Delta)) (*llm.Response, error) {
		<-open
		return &llm.Response{Cost: 0.1, CostKnown: true}, nil
	}
	return m
}

// TestEightAtOnce has eight sub-agents call at once a model whose calls cost far more than estimated: the limit
// is exceeded by no more than one call's estimate has missed, whether an earlier call has shown that or none has.
func TestEightAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before int   // calls that come before, one after another
		within bool  // each sub-agent has a limit of its own
		made   int32 // calls in all
	}{
		"after the agent's call":           {1, false, 6},
		"the first calls":                  {0, false, 6},
		"each with a limit":                {1, true, 6},
		"the first calls, each with limit": {0, true, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const limit = 0.55
				open := make(chan struct{})
				m, budget := slow(open), broker.NewBudget(limit)
				agent := broker.New(m, broker.Options{Budget: budget})
				var wg sync.WaitGroup
				call := func(m llm.Model) {
					if _, err := m.Generate(t.Context(), ask("hello"), ignore); err != nil && !fault.Is(err, fault.Limit) {
						t.Error(err)
					}
				}
				go func() { // the answers come one after another, each when nobody can do anything else
					for {
						synctest.Wait()
						select {
						case open <- struct{}{}:
						case <-t.Context().Done():
							return
						}
					}
				}()
				for range tt.before {
					call(agent)
				}
				for range 8 {
					b := budget
					if tt.within {
						b = broker.NewBudgetWithin(budget, limit)
					}
					sub := broker.New(m, broker.Options{Budget: b})
					wg.Go(func() { call(sub) })
				}
				wg.Wait()
				_, spent, reserved := budget.State()
				if reserved != 0 || spent > limit+0.1 || m.calls.Load() != tt.made {
					t.Errorf("spent %v of %v after %d calls, reserved %v", spent, limit, m.calls.Load(), reserved)
				}
			})
		})
	}
}

// TestWaitForTheFirst ends the wait of a call for the first one with its context, and when the first one has failed.
func TestWaitForTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open, fail := make(chan struct{}), true
		m := priced(nil)
		m.gen = func(int, llm.Request, func(llm.Delta)) (*llm.Response, error) {
			if !fail {
				return &llm.Response{Cost: 0.001, CostKnown: true}, nil
			}
			fail = false
			<-open
			return nil, failure(fault.Content)
		}
		b := broker.New(m, broker.Options{Budget: broker.NewBudget(1)})
		first, second, third := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		start := func(ctx context.Context, over chan error) {
			go func() {
				_, err := b.Generate(ctx, ask("hello"), ignore)
				over <- err
			}()
			synctest.Wait()
		}
		start(t.Context(), first)
		ctx, cancel := context.WithCancel(t.Context())
		start(ctx, second)
		start(t.Context(), third)
		if n := m.calls.Load(); n != 1 {
			t.Fatalf("%d calls at once", n)
		}
		cancel()
		if err := <-second; !fault.Is(err, fault.Canceled) || !errors.As(err, new(*llm.Error)) {
			t.Errorf("a call that was given up: %v", err)
		}
		close(open)
		if err := <-first; !fault.Is(err, fault.Content) {
			t.Errorf("the first: %v", err)
		}
		must.Succeed(t, <-third)
	})
}
