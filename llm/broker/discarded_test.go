package broker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

// emptyFirst gives so many empty answers that cost a dollar each, and then one that
// costs two.
type emptyFirst struct {
	name  string
	empty int
}

func (m *emptyFirst) Info() llm.Info {
	return llm.Info{Provider: "test", Name: m.name, MaxOutput: 10, Price: llm.Price{Known: true, Input: 1, Output: 1}}
}

func (m *emptyFirst) Generate(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) {
	if m.empty > 0 {
		m.empty--
		e := llm.NewError(fault.Unavailable, "test", m.name, "the answer was empty", nil)
		e.Code, e.Retryable = llm.CodeEmpty, true
		e.Discarded = []*llm.Response{{Usage: llm.Usage{Prompt: 100}, Cost: 1, CostKnown: true}}
		return nil, e
	}
	return &llm.Response{Usage: llm.Usage{Prompt: 100, Output: 5}, Cost: 2, CostKnown: true}, nil
}

// TestDiscarded: the cost of discarded answers is neither lost when another
// attempt succeeds, nor when none does, nor when another model answers.
func TestDiscarded(t *testing.T) {
	t.Parallel()
	once := func(m llm.Model, budget *broker.Budget) llm.Model {
		return broker.New(m, broker.Options{Attempts: 3, Budget: budget, Sleep: func(context.Context, time.Duration) error { return nil }})
	}
	budget := broker.NewBudget(100)
	resp, err := once(&emptyFirst{"a", 2}, budget).Generate(t.Context(), llm.Request{}, func(llm.Delta) {})
	if err != nil || len(resp.Discarded) != 2 || resp.Discarded[0].Served.Name != "a" {
		t.Fatalf("after two empty answers: %+v, %v", resp, err)
	}
	if _, spent, _ := budget.State(); spent != 4 {
		t.Errorf("the budget was charged %v, want 4", spent)
	}
	_, err = once(&emptyFirst{"a", 9}, nil).Generate(t.Context(), llm.Request{}, func(llm.Delta) {})
	if e, ok := errors.AsType[*llm.Error](err); !ok || len(e.Discarded) != 3 {
		t.Errorf("three empty answers: %+v", err)
	}
	chain, err := broker.NewFallback(nil, once(&emptyFirst{"a", 9}, nil), once(&emptyFirst{"b", 1}, nil))
	must.Succeed(t, err)
	resp, err = chain.Generate(t.Context(), llm.Request{}, func(llm.Delta) {})
	if err != nil || len(resp.Discarded) != 4 || resp.Served.Name != "b" {
		t.Fatalf("with a second model: %+v, %v", resp, err)
	}
	for i, want := range []string{"a", "a", "a", "b"} {
		if got := resp.Discarded[i].Served.Name; got != want {
			t.Errorf("answer %d counts for %s, want %s", i, got, want)
		}
	}
}
