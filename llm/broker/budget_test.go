package broker_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
)

func ask(text string) llm.Request {
	return llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts(text)}}, MaxOutputTokens: 1_000}
}

// priced is a model that costs $10 for a million tokens of output and bills the
// function's result.
func priced(bill func() float64) *fake {
	m := &fake{info: llm.Info{Name: "p/m", MaxOutput: 100_000, Price: llm.Price{Known: true, Input: 1, CacheRead: 0.1, CacheWrite: 1.25, Output: 10}}}
	m.gen = func(int, llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return &llm.Response{Cost: bill(), CostKnown: true}, nil
	}
	return m
}

func TestLastCentIsNotSpentTwice(t *testing.T) {
	t.Parallel()
	const limit = 0.05
	budget := broker.NewBudget(limit)
	// A call may cost a little over a cent, and costs anything up to that.
	m := priced(func() float64 { return rand.Float64() * 0.01 })
	b := broker.New(m, broker.Options{Budget: budget})
	var wg sync.WaitGroup
	for range 1_000 {
		wg.Go(func() {
			if _, err := b.Generate(t.Context(), ask("hello"), ignore); err != nil && fault.KindOf(err) != fault.Limit {
				t.Error(err)
			}
			if _, spent, reserved := budget.State(); spent+reserved > limit {
				t.Errorf("spent %v and reserved %v of %v", spent, reserved, limit)
			}
		})
	}
	wg.Wait()
	_, spent, reserved := budget.State()
	if reserved != 0 || spent <= 0 || spent > limit {
		t.Errorf("at the end: spent %v, reserved %v", spent, reserved)
	}
	if n := m.calls.Load(); n < 4 || n >= 1_000 {
		t.Errorf("%d calls were made", n)
	}
}

// TestLastCentOfGrowingConversations is the same with conversations whose prompts
// grow, and whose estimates, each too high by a share of its own, are corrected by
// the bills.
func TestLastCentOfGrowingConversations(t *testing.T) {
	t.Parallel()
	const limit = 0.05
	budget := broker.NewBudget(limit)
	m := priced(nil)
	m.gen = func(_ int, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		est := llm.EstimateTokens(r.Messages, nil)
		share := 20 + int(r.Session[0]-'a')
		u := llm.Usage{Prompt: est * share / 40, Output: rand.IntN(r.MaxOutputTokens + 1)}
		if rand.IntN(4) == 0 {
			return nil, failure(fault.Content)
		}
		cost, known := m.info.Price.Cost(u)
		return &llm.Response{Usage: u, Cost: cost, CostKnown: known}, nil
	}
	b := broker.New(m, broker.Options{Budget: budget})
	var wg sync.WaitGroup
	for i := range 1_000 {
		wg.Go(func() {
			r := ask("the system prompt")
			r.Session, r.MaxOutputTokens = string(rune('a'+i%20)), 100
			r.Messages = append(r.Messages, ask(strings.Repeat("x", i)).Messages...)
			if _, err := b.Generate(t.Context(), r, ignore); err != nil && !fault.Is(err, fault.Limit) && !fault.Is(err, fault.Content) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, spent, reserved := budget.State(); spent > limit || reserved != 0 || spent < limit/2 {
		t.Errorf("spent %v of %v, reserved %v after %d calls", spent, limit, reserved, m.calls.Load())
	}
}

func TestRefusedBeforeTheCall(t *testing.T) {
	t.Parallel()
	m := priced(func() float64 { return 0.01 })
	budget := broker.NewBudget(0.025)
	b := broker.New(m, broker.Options{Budget: budget})
	for range 2 {
		if _, err := b.Generate(t.Context(), ask("x"), ignore); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Generate(t.Context(), ask("x"), ignore)
	if fault.KindOf(err) != fault.Limit || m.calls.Load() != 2 || !strings.Contains(err.Error(), "$0.0200 is spent") || fault.HintOf(err) == "" {
		t.Errorf("error %v after %d calls", err, m.calls.Load())
	}
}

func TestUnknownPriceIsRefused(t *testing.T) {
	t.Parallel()
	m := priced(func() float64 { return 0 })
	m.info.Price = llm.Price{}
	_, err := broker.New(m, broker.Options{Budget: broker.NewBudget(100)}).Generate(t.Context(), ask("x"), ignore)
	if fault.KindOf(err) != fault.Limit || m.calls.Load() != 0 || !strings.Contains(err.Error(), "price of p/m is unknown") {
		t.Errorf("error %v", err)
	}
	if hint := fault.HintOf(err); !strings.Contains(hint, "--input-price") || !strings.Contains(hint, "--output-price") {
		t.Errorf("hint %q", hint)
	}
}

func TestAnswerIsShortenedToWhatIsLeft(t *testing.T) {
	t.Parallel()
	m := priced(func() float64 { return 0 })
	var asked int
	m.gen = func(_ int, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		asked = r.MaxOutputTokens
		return &llm.Response{CostKnown: true}, nil
	}
	r := ask("x")
	r.MaxOutputTokens = 0 // the model's own 100,000 would cost a dollar
	if _, err := broker.New(m, broker.Options{Budget: broker.NewBudget(0.5)}).Generate(t.Context(), r, ignore); err != nil {
		t.Fatal(err)
	}
	if asked < 40_000 || asked > 50_000 {
		t.Errorf("asked for %d tokens", asked)
	}
}

func TestWhatFailedCallsCost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		said  string
		spent bool
	}{"before anything was said": {"", false}, "after some words": {strings.Repeat("word ", 100), true}} {
		m := priced(nil)
		m.gen = func(_ int, _ llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
			if tt.said != "" {
				onDelta(llm.Delta{Text: tt.said})
			}
			return nil, failure(fault.Content)
		}
		budget := broker.NewBudget(1)
		if _, err := broker.New(m, broker.Options{Budget: budget}).Generate(t.Context(), ask("x"), ignore); err == nil {
			t.Fatal("no error")
		}
		if _, spent, reserved := budget.State(); (spent > 0) != tt.spent || reserved != 0 {
			t.Errorf("%s: spent %v, reserved %v", name, spent, reserved)
		}
	}
}

func TestBudgetNeverOverspends(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(0, 1).Draw(t, "limit")
		b := broker.NewBudget(limit)
		var open []*broker.Reservation
		var worst []float64
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(t, "settle") {
				open[0].Settle(rapid.Float64Range(0, worst[0]).Draw(t, "cost"))
				open, worst = open[1:], worst[1:]
			} else {
				amount := rapid.Float64Range(0, 0.3).Draw(t, "amount")
				if r, err := b.Reserve(amount); err == nil {
					open, worst = append(open, r), append(worst, amount)
				}
			}
			if l, spent, reserved := b.State(); spent+reserved > l+1e-9 || spent < 0 || reserved < -1e-12 {
				t.Fatalf("limit %v, spent %v, reserved %v", l, spent, reserved)
			}
		}
	})
}

// TestBudgetWithin holds that a part of a budget is spent of the whole, and that both limits
// hold.
func TestBudgetWithin(t *testing.T) {
	t.Parallel()
	whole := broker.NewBudget(10)
	part := broker.NewBudgetWithin(whole, 4)
	if _, err := part.Reserve(5); !fault.Is(err, fault.Limit) {
		t.Errorf("more than the part: %v", err)
	}
	r, err := part.Reserve(3)
	must.Succeed(t, err)
	if _, _, reserved := whole.State(); reserved != 3 {
		t.Errorf("%v is reserved of the whole", reserved)
	}
	r.Settle(2)
	if _, spent, reserved := whole.State(); spent != 2 || reserved != 0 {
		t.Errorf("%v is spent of the whole, %v reserved", spent, reserved)
	}
	whole.Spend(7) // by others
	if _, err := part.Reserve(1.5); !fault.Is(err, fault.Limit) {
		t.Errorf("more than the rest of the whole: %v", err)
	}
	if _, err := part.Reserve(1); err != nil {
		t.Errorf("the rest: %v", err)
	}
}
