package eventstreamtest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// testModel runs random operations against the stream and a model that keeps
// everything in slices.
func testModel(t *testing.T, s eventstream.Stream) {
	rapid.Check(t, func(rt *rapid.T) {
		m := model{s: s, ctx: t.Context(), convs: map[event.ConversationID][]eventstream.Record{}}
		rt.Repeat(map[string]func(*rapid.T){
			"create": m.create,
			"append": m.append,
			"fork":   m.fork,
			"delete": m.delete,
			"search": m.search,
			"read":   m.read,
		})
		for id := range m.convs {
			m.compare(rt, id, 1)
		}
	})
}

type model struct {
	s     eventstream.Stream
	ctx   context.Context
	ids   []event.ConversationID // alive, in order of creation
	convs map[event.ConversationID][]eventstream.Record
}

func (m *model) pick(t *rapid.T) event.ConversationID {
	if len(m.ids) == 0 {
		t.Skip("no conversation yet")
	}
	return rapid.SampledFrom(m.ids).Draw(t, "conversation")
}

func (m *model) add(id event.ConversationID, recs []eventstream.Record) {
	m.ids = append(m.ids, id)
	m.convs[id] = recs
}

func (m *model) create(t *rapid.T) {
	id := event.NewConversationID()
	must.Succeed(t, m.s.Create(m.ctx, id, eventstream.Meta{}))
	m.add(id, nil)
}

func (m *model) append(t *rapid.T) {
	id := m.pick(t)
	have := m.convs[id]
	var recs []eventstream.Record
	for i := range rapid.IntRange(1, 5).Draw(t, "events") {
		kind := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "kind")
		source := rapid.SampledFrom([]event.Source{"user", "agent"}).Draw(t, "source")
		ts := event.Timestamp(fmt.Sprintf("2026-01-01T00:00:%02d.000000", rapid.IntRange(0, 59).Draw(t, "second")))
		r := rawRecord(event.NewID(), kind, source, ts, "", "")
		if len(have) > 0 && rapid.IntRange(0, 9).Draw(t, "taken") == 0 {
			r.ID = have[rapid.IntRange(0, len(have)-1).Draw(t, "taken id")].ID
		}
		r.Seq = eventstream.Seq(len(have) + i + 1)
		recs = append(recs, r)
	}
	conflict := slices.ContainsFunc(recs, func(r eventstream.Record) bool {
		return slices.ContainsFunc(have, func(h eventstream.Record) bool { return h.ID == r.ID })
	})
	_, err := m.s.AppendRecords(m.ctx, id, recs...)
	if conflict != fault.Is(err, fault.Conflict) || (!conflict && err != nil) {
		t.Fatalf("got error %v, want a conflict: %v", err, conflict)
	}
	if !conflict {
		m.convs[id] = append(have[:len(have):len(have)], recs...)
	}
}

func (m *model) fork(t *rapid.T) {
	src := m.pick(t)
	have := m.convs[src]
	var segs []eventstream.Segment
	var recs []eventstream.Record
	at := 0
	for range rapid.IntRange(0, 4).Draw(t, "segments") {
		if at >= len(have) {
			break
		}
		first := rapid.IntRange(at+1, len(have)).Draw(t, "first")
		last := rapid.IntRange(first, len(have)).Draw(t, "last")
		segs = append(segs, eventstream.Segment{First: eventstream.Seq(first), Last: eventstream.Seq(last)})
		recs = append(recs, have[first-1:last]...)
		at = last
	}
	dst := event.NewConversationID()
	must.Succeed(t, m.s.Fork(m.ctx, dst, src, segs, eventstream.Meta{}))
	m.add(dst, renumber(recs))
}

func (m *model) delete(t *rapid.T) {
	id := m.pick(t)
	must.Succeed(t, m.s.Delete(m.ctx, id))
	delete(m.convs, id)
	m.ids = slices.DeleteFunc(m.ids, func(x event.ConversationID) bool { return x == id })
}

func (m *model) read(t *rapid.T) {
	id := m.pick(t)
	m.compare(t, id, rapid.IntRange(1, len(m.convs[id])+1).Draw(t, "from"))
}

func (m *model) compare(t *rapid.T, id event.ConversationID, from int) {
	var got []eventstream.Record
	for r, err := range m.s.Read(m.ctx, id, eventstream.Seq(from)) {
		must.Succeed(t, err)
		got = append(got, r)
	}
	want := append([]eventstream.Record(nil), m.convs[id][from-1:]...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("read from %d (-want +got):\n%s", from, diff)
	}
}

func (m *model) search(t *rapid.T) {
	id := m.pick(t)
	q := eventstream.Query{
		Kinds:  rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", "D"}), 0, 2).Draw(t, "kinds"),
		Source: rapid.SampledFrom([]event.Source{"", "user", "hook"}).Draw(t, "source"),
		From:   rapid.SampledFrom([]event.Timestamp{"", "2026-01-01T00:00:20.000000"}).Draw(t, "from"),
		Before: rapid.SampledFrom([]event.Timestamp{"", "2026-01-01T00:00:40.000000"}).Draw(t, "before"),
		Order:  rapid.SampledFrom([]eventstream.Order{eventstream.Ascending, eventstream.Descending}).Draw(t, "order"),
		Limit:  rapid.IntRange(1, 5).Draw(t, "limit"),
	}
	var want []eventstream.Record
	for _, r := range m.convs[id] {
		if (len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.Kind)) && (q.Source == "" || q.Source == r.Source) &&
			(q.From == "" || r.Timestamp >= q.From) && (q.Before == "" || r.Timestamp < q.Before) {
			want = append(want, r)
		}
	}
	if q.Order == eventstream.Descending {
		slices.Reverse(want)
	}
	n, err := m.s.Count(m.ctx, id, q)
	if err != nil || n != len(want) {
		t.Fatalf("count %d, error %v, want %d", n, err, len(want))
	}
	var got []eventstream.Record
	for {
		page, err := m.s.Search(m.ctx, id, q)
		must.Succeed(t, err)
		got = append(got, page.Records...)
		if q.PageID = page.NextID; q.PageID == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("search %+v (-want +got):\n%s", q, diff)
	}
}
