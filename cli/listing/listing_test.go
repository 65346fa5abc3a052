package listing_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// held are the conversations that some process works on.
type held []event.ConversationID

func (h held) Held(id event.ConversationID) (bool, error) { return slices.Contains(h, id), nil }

// broken cannot tell.
type broken struct{ err error }

func (b broken) Held(event.ConversationID) (bool, error) { return false, b.err }

func open(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, s.Close()) })
	return s
}

func create(t *testing.T, s *sqlite.Store, meta eventstream.Meta, evs ...event.Event) event.ConversationID {
	t.Helper()
	id := event.NewConversationID()
	must.Succeed(t, s.Create(t.Context(), id, meta))
	if len(evs) > 0 {
		if _, err := s.Append(t.Context(), id, evs...); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

func update(t *testing.T, key string, value any) event.Event {
	t.Helper()
	up, err := event.NewStateUpdate(key, value)
	must.Succeed(t, err)
	return up
}

func TestCostIsShown(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]listing.Conversation{
		"-": {NoCall: true}, "$0.0000": {}, "$0.5000": {CostUSD: 0.5}, "unknown": {Unpriced: 2}, "$0.5000 + unknown": {CostUSD: 0.5, Unpriced: 1},
	} {
		if got := c.Cost(); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	summary := json.RawMessage(`{"agent":{"llm":{"model":"a/summary"}}}`)
	info := func(change func(*eventstream.Info)) eventstream.Info {
		i := eventstream.Info{
			ID: "one", Created: at, Updated: at.Add(time.Hour), Events: 3, Status: "finished", Cost: 0.5,
			Meta: eventstream.Meta{Title: "T", WorkingDir: "/w", ForkOf: "zero", Extra: json.RawMessage(`{"agent":{"llm":{"model":"a/b"}}}`)},
		}
		change(&i)
		return i
	}
	want := func(change func(*listing.Conversation)) listing.Conversation {
		c := listing.Conversation{
			ID: "one", Created: at, Updated: at.Add(time.Hour), Events: 3, Status: "finished", CostUSD: 0.5, Model: "a/b", Title: "T", Workspace: "/w", ForkOf: "zero",
		}
		change(&c)
		return c
	}
	for _, c := range []struct {
		name  string
		info  eventstream.Info
		locks held
		want  listing.Conversation
	}{
		{"finished", info(func(*eventstream.Info) {}), nil, want(func(*listing.Conversation) {})},
		{"without a status", info(func(i *eventstream.Info) { i.Status = "" }), nil, want(func(c *listing.Conversation) { c.Status = "idle" })},
		{"running", info(func(i *eventstream.Info) { i.Status = "running" }), held{"one"}, want(func(c *listing.Conversation) { c.Status = "running" })},
		{"died", info(func(i *eventstream.Info) { i.Status = "running" }), held{"two"}, want(func(c *listing.Conversation) { c.Status = listing.Interrupted })},
		{"paused", info(func(i *eventstream.Info) { i.Status = "paused" }), nil, want(func(c *listing.Conversation) { c.Status = "paused" })},
		{"model in the summary", info(func(i *eventstream.Info) { i.Meta.Extra, i.Meta.Summary = nil, summary }), nil, want(func(c *listing.Conversation) { c.Model = "a/summary" })},
		{"no model", info(func(i *eventstream.Info) { i.Meta.Extra = json.RawMessage(`{"agent":{"llm":{"model":""}}}`) }), nil, want(func(c *listing.Conversation) { c.Model = "" })},
		{"a call of unknown price", info(func(i *eventstream.Info) {
			i.Meta.Summary = json.RawMessage(`{"stats":{"usage_to_metrics":{"agent":{"token_usages":[{},{}],"costs":[{"cost":0.5}]},"gone":null}}}`)
		}), nil, want(func(c *listing.Conversation) { c.Unpriced = 1 })},
		{"no call", info(func(i *eventstream.Info) { i.Cost = 0 }), nil, want(func(c *listing.Conversation) { c.CostUSD, c.NoCall = 0, true })},
		{"a free call", info(func(i *eventstream.Info) {
			i.Cost, i.Meta.Summary = 0, json.RawMessage(`{"stats":{"usage_to_metrics":{"agent":{"token_usages":[{}],"costs":[{"cost":0}]}}}}`)
		}), nil, want(func(c *listing.Conversation) { c.CostUSD = 0 })},
		{"calls not kept, of known price", info(func(i *eventstream.Info) {
			i.Meta.Summary = json.RawMessage(`{"stats":{"usage_to_metrics":{"agent":{"accumulated_cost":0.5,"accumulated_token_usage":{"prompt_tokens":9}}}}}`)
		}), nil, want(func(*listing.Conversation) {})},
		{"calls not kept, of unknown price", info(func(i *eventstream.Info) {
			i.Meta.Summary = json.RawMessage(`{"stats":{"usage_to_metrics":{"agent":{"accumulated_cost":0,"accumulated_token_usage":{"prompt_tokens":9}}}}}`)
		}), nil, want(func(c *listing.Conversation) { c.Unpriced = 1 })},
		{"damaged extra", info(func(i *eventstream.Info) { i.Meta.Extra, i.Meta.Summary = json.RawMessage(`{"agent":`), summary }), nil, want(func(c *listing.Conversation) { c.Model = "a/summary" })},
	} {
		got, err := listing.Describe(c.info, c.locks)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	unknown := errors.New("locks cannot be read")
	if _, err := listing.Describe(info(func(i *eventstream.Info) { i.Status = "running" }), broken{unknown}); !errors.Is(err, unknown) {
		t.Errorf("error %v", err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, eventstream.Meta{Title: "idle"})
	running := create(t, s, eventstream.Meta{Title: "running"}, update(t, state.KeyStatus, state.Running))
	create(t, s, eventstream.Meta{Title: "died"}, update(t, state.KeyStatus, state.Running))
	create(t, s, eventstream.Meta{Title: "finished"}, update(t, state.KeyStatus, state.Finished))
	for _, c := range []struct {
		q    listing.Query
		want []string
	}{
		{listing.Query{}, []string{"finished", "died", "running", "idle"}},
		{listing.Query{Limit: 2}, []string{"finished", "died"}},
		{listing.Query{Limit: 4}, []string{"finished", "died", "running", "idle"}},
		{listing.Query{Status: "running"}, []string{"running"}},
		{listing.Query{Status: "interrupted"}, []string{"died"}},
		{listing.Query{Status: "interrupted", Limit: 1}, []string{"died"}},
		{listing.Query{Status: "idle"}, []string{"idle"}},
		{listing.Query{Status: "stuck"}, nil},
	} {
		var got []string
		n, err := listing.List(t.Context(), s, held{running}, c.q, func(i listing.Conversation) error {
			got = append(got, i.Title)
			return nil
		})
		if err != nil || n != len(c.want) {
			t.Errorf("%+v: %d, %v", c.q, n, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.q, diff)
		}
	}
	closed := errors.New("broken pipe")
	if n, err := listing.List(t.Context(), s, held{}, listing.Query{}, func(listing.Conversation) error { return closed }); !errors.Is(err, closed) || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	unknown := errors.New("locks cannot be read")
	if _, err := listing.List(t.Context(), s, broken{unknown}, listing.Query{}, func(listing.Conversation) error { return nil }); !errors.Is(err, unknown) {
		t.Error(err)
	}
}

// pages is a store of two pages, with a damaged record on the first one and a
// damaged conversation on the second.
type pages struct{ *sqlite.Store }

var damage = fault.New(fault.Corrupt, "a record is damaged")

func (p pages) List(_ context.Context, q eventstream.ListQuery) (eventstream.ListPage, error) {
	if q.PageID == "" {
		if q.Damaged == nil {
			return eventstream.ListPage{}, damage
		}
		q.Damaged("two", damage)
		return eventstream.ListPage{Infos: []eventstream.Info{{ID: "one"}}, NextID: "three"}, nil
	}
	return eventstream.ListPage{Infos: []eventstream.Info{{ID: "three"}, {ID: "four"}}}, nil
}

func (p pages) Search(_ context.Context, id event.ConversationID, _ eventstream.Query) (eventstream.Page, error) {
	if id == "three" {
		return eventstream.Page{}, damage
	}
	return eventstream.Page{Records: []eventstream.Record{{
		ID: event.ID(id), JSON: []byte(`{"key":"stats","value":{"usage_to_metrics":{"agent":{"token_usages":[{"model":"m","prompt_tokens":10}]}}}}`),
	}}}, nil
}

// TestDamaged wants sound conversations to be listed and billed, and the damage as
// an error.
func TestDamaged(t *testing.T) {
	t.Parallel()
	var ids, damaged []event.ConversationID
	q := listing.Query{Damaged: func(id event.ConversationID, _ error) { damaged = append(damaged, id) }}
	n, err := listing.List(t.Context(), pages{}, held{}, q, func(c listing.Conversation) error { ids = append(ids, c.ID); return nil })
	if n != 3 || !errors.Is(err, damage) || !slices.Equal(ids, []event.ConversationID{"one", "three", "four"}) || !slices.Equal(damaged, []event.ConversationID{"two"}) {
		t.Errorf("%d, %v, %v, %v", n, ids, damaged, err)
	}
	b, err := listing.Cost(t.Context(), pages{})
	if !fault.Is(err, fault.Corrupt) || b.Total.Calls != 2 || b.Total.Prompt != 20 {
		t.Errorf("%+v, %v", b, err)
	}
	if _, err := listing.CostOf(t.Context(), pages{}, "three"); !fault.Is(err, fault.Corrupt) {
		t.Error(err)
	}
}

// TestListOfDirectory lists the conversations of a directory, of those around it and of those below
// it, and names who has started whom.
func TestListOfDirectory(t *testing.T) {
	t.Parallel()
	s := open(t)
	parent := create(t, s, eventstream.Meta{WorkingDir: "/src/a"})
	child := create(t, s, eventstream.Meta{WorkingDir: "/src/a", Parent: parent})
	must.Succeed(t, s.SetMeta(t.Context(), parent, eventstream.Meta{WorkingDir: "/src/a", Summary: []byte(`{"sub_conversation_ids":["` + string(child) + `"]}`), SummaryAt: 1}))
	other, anywhere := create(t, s, eventstream.Meta{WorkingDir: "/src/b"}), create(t, s, eventstream.Meta{})
	for _, c := range []struct {
		q    listing.Query
		want []event.ConversationID
	}{
		{listing.Query{}, []event.ConversationID{parent, child, other, anywhere}},
		{listing.Query{Dir: "/src/a"}, []event.ConversationID{parent, child, anywhere}},
		{listing.Query{Dir: "/src/a/deep"}, []event.ConversationID{parent, child, anywhere}},
		{listing.Query{Dir: "/src"}, []event.ConversationID{parent, child, other, anywhere}},
		{listing.Query{Dir: "/else"}, []event.ConversationID{anywhere}},
		{listing.Query{Dir: "/src/a", WithoutParent: true}, []event.ConversationID{parent, anywhere}},
	} {
		got := map[event.ConversationID]listing.Conversation{}
		if _, err := listing.List(t.Context(), s, held{}, c.q, func(i listing.Conversation) error { got[i.ID] = i; return nil }); err != nil {
			t.Fatal(err)
		}
		for _, id := range c.want {
			if _, ok := got[id]; !ok || len(got) != len(c.want) {
				t.Errorf("%+v: %d conversations, want %d", c.q, len(got), len(c.want))
			}
		}
		if p, ok := got[parent]; ok && (len(p.Children) != 1 || p.Children[0] != child) {
			t.Errorf("children: %v", p.Children)
		}
		if i, ok := got[child]; ok && i.Parent != parent {
			t.Errorf("parent: %v", i.Parent)
		}
	}
}
