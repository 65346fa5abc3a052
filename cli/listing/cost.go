package listing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// Bill is the usage of conversations, by their events.
type Bill struct {
	Conversations int   `json:"conversations"`
	Total         Row   `json:"total"`
	Rows          []Row `json:"rows"` // dearest first
}

// CostOf returns the bill of one conversation, with the usage of its sub-agents.
func CostOf(ctx context.Context, s Store, id event.ConversationID) (Bill, error) {
	b := newBill()
	err := b.conversation(ctx, s, id)
	return b.finished(), err
}

// Cost returns the bill of all conversations. Events that forks share count once. If
// conversations are damaged, the bill holds the others, and the error is of kind
// Corrupt.
func Cost(ctx context.Context, s Store) (Bill, error) {
	b := newBill()
	b.whole = true
	if err := b.all(ctx, s); err != nil {
		return Bill{}, err
	}
	return b.finished(), b.damaged
}

func newBill() *bill { return &bill{seen: map[event.ID]bool{}, by: map[billKey]*Row{}} }

func (b *bill) finished() Bill {
	rows, total := b.rows()
	return Bill{b.conversations, total, rows}
}

// bill sums the usage of conversations.
type bill struct {
	conversations int
	whole         bool              // the conversations of sub-agents are billed by themselves
	damaged       error             // of the last conversation that could not be read whole
	seen          map[event.ID]bool // forks share events: each is billed once
	by            map[billKey]*Row
}

type billKey struct{ service, model string }

// Row sums the calls of one model for one service.
type Row struct {
	Service    string `json:"service"`
	Model      string `json:"model"`
	Calls      int    `json:"calls"`
	Prompt     int    `json:"prompt_tokens"`
	CacheRead  int    `json:"cache_read_tokens"`
	CacheWrite int    `json:"cache_write_tokens"`
	Output     int    `json:"completion_tokens"`
	Reasoning  int    `json:"reasoning_tokens"`
	// Cost in US dollars of the calls whose price is known; Unpriced counts the
	// others.
	Cost     float64 `json:"cost"`
	Unpriced int     `json:"unpriced_calls"`
	// Seconds is how long all calls took.
	Seconds float64 `json:"seconds"`
	// FirstToken is the mean time to the first token of the calls that tell it,
	// in seconds; 0 if none does.
	FirstToken float64 `json:"first_token_seconds"`
	// TokensPerSecond is the output of all calls by their whole time.
	TokensPerSecond float64 `json:"tokens_per_second"`

	first    float64 // sum of the times to the first token
	streamed int     // calls that tell it
}

func (b *bill) all(ctx context.Context, s Store) error {
	q := eventstream.ListQuery{Damaged: func(_ event.ConversationID, err error) { b.damaged = err }}
	for {
		page, err := s.List(ctx, q)
		if err != nil {
			return fmt.Errorf("list conversations: %w", err)
		}
		for _, info := range page.Infos {
			if err := b.conversation(ctx, s, info.ID); fault.Is(err, fault.Corrupt) {
				b.damaged = err
			} else if err != nil {
				return err
			}
		}
		if page.NextID == "" {
			return nil
		}
		q.PageID = page.NextID
	}
}

// conversation adds the calls that a conversation recorded.
func (b *bill) conversation(ctx context.Context, s Store, id event.ConversationID) error {
	b.conversations++
	services := map[string]llm.Metrics{}
	q := eventstream.Query{Kinds: []string{(&event.ConversationStateUpdateEvent{}).Kind()}, Limit: 1000}
	for {
		page, err := s.Search(ctx, id, q)
		if err != nil {
			return fmt.Errorf("read conversation %s: %w", id, err)
		}
		for _, rec := range page.Records {
			for service, m := range b.update(rec) {
				services[service] = joined(services[service], m)
			}
		}
		if page.NextID == "" {
			break
		}
		q.PageID = page.NextID
	}
	for service, m := range services {
		b.add(service, &m)
	}
	return nil
}

// update returns the calls in a record: none, if it is another update or was
// billed before.
func (b *bill) update(rec eventstream.Record) map[string]llm.Metrics {
	var up struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if b.seen[rec.ID] || json.Unmarshal(rec.JSON, &up) != nil || up.Key != state.KeyStats {
		return nil
	}
	b.seen[rec.ID] = true
	var stats state.Stats
	if json.Unmarshal(up.Value, &stats) != nil { // as the fold passes it over
		return nil
	}
	maps.DeleteFunc(stats.UsageToMetrics, func(service string, _ llm.Metrics) bool {
		return b.whole && strings.HasPrefix(service, state.TaskPrefix)
	})
	return stats.UsageToMetrics
}

// joined adds the calls of an update. Deft's updates hold the one call that
// caused them, OpenHands' hold all calls so far.
func joined(old, up llm.Metrics) llm.Metrics {
	if len(up.TokenUsages) > 1 || len(up.Costs) > 1 {
		return up
	}
	up.TokenUsages = append(old.TokenUsages, up.TokenUsages...)
	up.Costs = append(old.Costs, up.Costs...)
	up.ResponseLatencies = append(old.ResponseLatencies, up.ResponseLatencies...)
	return up
}

func (b *bill) row(service, model string) *Row {
	key := billKey{service, model}
	if b.by[key] == nil {
		b.by[key] = &Row{Service: service, Model: model}
	}
	return b.by[key]
}

func (b *bill) add(service string, m *llm.Metrics) {
	if u := m.AccumulatedTokenUsage; u != nil && len(m.TokenUsages) == 0 { // its single calls were not kept
		one := *u
		one.Model = cmp.Or(u.Model, m.ModelName)
		m.TokenUsages = append(m.TokenUsages, one)
		if m.AccumulatedCost > 0 && len(m.Costs) == 0 {
			m.Costs = append(m.Costs, llm.CostEntry{Model: one.Model, Cost: m.AccumulatedCost})
		}
	}
	for _, u := range m.TokenUsages {
		r := b.row(service, u.Model)
		r.Calls++
		r.Unpriced++
		r.Prompt += u.PromptTokens
		r.CacheRead += u.CacheReadTokens
		r.CacheWrite += u.CacheWriteTokens
		r.Output += u.CompletionTokens
		r.Reasoning += u.ReasoningTokens
	}
	for _, c := range m.Costs {
		r := b.row(service, c.Model)
		r.Cost += c.Cost
		r.Unpriced = max(0, r.Unpriced-1)
	}
	for _, l := range m.ResponseLatencies {
		r := b.row(service, l.Model)
		r.Seconds += l.Latency
		if l.FirstToken > 0 {
			r.first += l.FirstToken
			r.streamed++
		}
	}
}

// rows returns the lines, dearest first, and their sum.
func (b *bill) rows() (rows []Row, total Row) {
	rows, total = []Row{}, Row{Service: "total"}
	for _, r := range b.by {
		rows = append(rows, r.finished())
		total.Calls += r.Calls
		total.Prompt += r.Prompt
		total.CacheRead += r.CacheRead
		total.CacheWrite += r.CacheWrite
		total.Output += r.Output
		total.Reasoning += r.Reasoning
		total.Cost += r.Cost
		total.Unpriced += r.Unpriced
		total.Seconds += r.Seconds
		total.first += r.first
		total.streamed += r.streamed
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Model, b.Model))
	})
	return rows, total.finished()
}

func (r *Row) finished() Row {
	f := *r
	if f.streamed > 0 {
		f.FirstToken = f.first / float64(f.streamed)
	}
	if f.Seconds > 0 {
		f.TokensPerSecond = float64(f.Output) / f.Seconds
	}
	return f
}

// SecondsPerCall is how long a call took in the mean; 0 without calls.
func (r Row) SecondsPerCall() float64 {
	if r.Calls == 0 {
		return 0
	}
	return r.Seconds / float64(r.Calls)
}

// Price shows the cost of a row, and its unknown part.
func (r Row) Price() string {
	switch {
	case r.Unpriced == 0:
		return llm.Dollars(r.Cost)
	case r.Unpriced == r.Calls:
		return "unknown"
	}
	calls := "calls"
	if r.Unpriced == 1 {
		calls = "call"
	}
	return fmt.Sprintf("%s + %d %s of unknown price", llm.Dollars(r.Cost), r.Unpriced, calls)
}
