package listing_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// call is the update of one call, as Deft stores it.
func call(t *testing.T, service, model string, prompt, output int, cost, latency, first float64) event.Event {
	t.Helper()
	m := llm.Metrics{
		ModelName:         model,
		TokenUsages:       []llm.TokenUsage{{Model: model, PromptTokens: prompt, CompletionTokens: output, CacheReadTokens: 1, CacheWriteTokens: 2, ReasoningTokens: 3}},
		ResponseLatencies: []llm.LatencyEntry{{Model: model, Latency: latency, FirstToken: first}},
	}
	if cost >= 0 {
		m.Costs = []llm.CostEntry{{Model: model, Cost: cost}}
	}
	return update(t, state.KeyStats, state.Stats{UsageToMetrics: map[string]llm.Metrics{service: m}})
}

func TestCost(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := create(t, s, eventstream.Meta{}, update(t, state.KeyStatus, state.Running),
		call(t, "agent", "a/dear", 100, 40, 2, 4, 1), call(t, "agent", "a/dear", 100, 40, 1, 4, 0), call(t, "condenser", "a/unpriced", 10, 5, -1, 0, 0))
	create(t, s, eventstream.Meta{}, call(t, "agent", "a/cheap", 7, 8, 0.5, 1, 0))
	fork := event.NewConversationID()
	must.Succeed(t, s.Fork(t.Context(), fork, first, []eventstream.Segment{{First: 1, Last: 2}}, eventstream.Meta{}))
	row := func(service, model string, calls, prompt, output int, cost float64, unpriced int, seconds, first, speed float64) listing.Row {
		return listing.Row{
			Service: service, Model: model, Calls: calls, Prompt: prompt, CacheRead: calls, CacheWrite: 2 * calls, Output: output, Reasoning: 3 * calls,
			Cost: cost, Unpriced: unpriced, Seconds: seconds, FirstToken: first, TokensPerSecond: speed,
		}
	}
	dear, unpriced := row("agent", "a/dear", 2, 200, 80, 3, 0, 8, 1, 10), row("condenser", "a/unpriced", 1, 10, 5, 0, 1, 0, 0, 0)
	for _, c := range []struct {
		name string
		bill func() (listing.Bill, error)
		want listing.Bill
	}{
		{"all", func() (listing.Bill, error) { return listing.Cost(t.Context(), s) }, listing.Bill{
			Conversations: 3, Total: row("total", "", 4, 217, 93, 3.5, 1, 9, 1, 93.0/9),
			Rows: []listing.Row{dear, row("agent", "a/cheap", 1, 7, 8, 0.5, 0, 1, 0, 8), unpriced},
		}},
		{"one", func() (listing.Bill, error) { return listing.CostOf(t.Context(), s, first) }, listing.Bill{
			Conversations: 1, Total: row("total", "", 3, 210, 85, 3, 1, 8, 1, 85.0/8), Rows: []listing.Row{dear, unpriced},
		}},
		{"fork", func() (listing.Bill, error) { return listing.CostOf(t.Context(), s, fork) }, listing.Bill{
			Conversations: 1, Total: row("total", "", 1, 100, 40, 2, 0, 4, 1, 10), Rows: []listing.Row{row("agent", "a/dear", 1, 100, 40, 2, 0, 4, 1, 10)},
		}},
		{"none", func() (listing.Bill, error) { return listing.Cost(t.Context(), open(t)) }, listing.Bill{Total: listing.Row{Service: "total"}, Rows: []listing.Row{}}},
	} {
		got, err := c.bill()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(listing.Row{}), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestCostOfSubAgents bills a sub-agent's usage once in all, and with the conversation that
// gave the task.
func TestCostOfSubAgents(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, eventstream.Meta{}, call(t, "agent", "a/m", 7, 8, 0.5, 1, 0))
	parent := create(t, s, eventstream.Meta{}, call(t, "agent", "a/m", 7, 8, 2, 1, 0), call(t, state.TaskPrefix+"child", "a/m", 7, 8, 0.5, 1, 0))
	all, err := listing.Cost(t.Context(), s)
	if err != nil || all.Total.Cost != 2.5 || all.Total.Calls != 2 {
		t.Errorf("all: %+v, %v", all.Total, err)
	}
	one, err := listing.CostOf(t.Context(), s, parent)
	if err != nil || one.Total.Cost != 2.5 {
		t.Errorf("the parent: %+v, %v", one.Total, err)
	}
}

// TestCostOfImported has updates as OpenHands stores them: each holds all calls so
// far, or only their sum.
func TestCostOfImported(t *testing.T) {
	t.Parallel()
	usage := func(n int) llm.TokenUsage { return llm.TokenUsage{Model: "m", PromptTokens: n} }
	stats := func(m llm.Metrics) event.Event {
		return update(t, state.KeyStats, state.Stats{UsageToMetrics: map[string]llm.Metrics{"agent": m}})
	}
	sum := llm.TokenUsage{PromptTokens: 30}
	for name, c := range map[string]struct {
		evs   []event.Event
		calls int
	}{
		"all so far": {[]event.Event{
			stats(llm.Metrics{TokenUsages: []llm.TokenUsage{usage(10)}, Costs: []llm.CostEntry{{Model: "m", Cost: 1}}}),
			stats(llm.Metrics{TokenUsages: []llm.TokenUsage{usage(10), usage(20)}, Costs: []llm.CostEntry{{Model: "m", Cost: 1}, {Model: "m", Cost: 2}}}),
		}, 2},
		"the sum": {[]event.Event{stats(llm.Metrics{ModelName: "m", AccumulatedCost: 3, AccumulatedTokenUsage: &sum})}, 1},
		"with something else": {[]event.Event{
			update(t, state.KeyStats, json.RawMessage(`"not statistics"`)), update(t, "other", json.RawMessage(`{}`)),
			stats(llm.Metrics{ModelName: "m", AccumulatedCost: 3, AccumulatedTokenUsage: &sum}),
		}, 1},
	} {
		s := open(t)
		id := create(t, s, eventstream.Meta{}, c.evs...)
		b, err := listing.CostOf(t.Context(), s, id)
		if err != nil || len(b.Rows) != 1 || b.Rows[0].Model != "m" || b.Total.Calls != c.calls || b.Total.Prompt != 30 || math.Abs(b.Total.Cost-3) > 1e-9 || b.Total.Unpriced != 0 {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

func TestPrice(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]listing.Row{
		"$1.5000":                             {Calls: 2, Cost: 1.5},
		"unknown":                             {Calls: 2, Unpriced: 2},
		"$1.5000 + 1 call of unknown price":   {Calls: 2, Cost: 1.5, Unpriced: 1},
		"$0.00010 + 9 calls of unknown price": {Calls: 10, Cost: 0.0001, Unpriced: 9},
	} {
		if got := r.Price(); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
	if r := (listing.Row{Calls: 4, Seconds: 10}); r.SecondsPerCall() != 2.5 || (listing.Row{}).SecondsPerCall() != 0 {
		t.Errorf("%f seconds a call", r.SecondsPerCall())
	}
}
