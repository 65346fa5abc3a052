package eventstreamtest

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

func fork(t testing.TB, s eventstream.Stream, src event.ConversationID, segs ...eventstream.Segment) event.ConversationID {
	t.Helper()
	dst := event.NewConversationID()
	must.Succeed(t, s.Fork(t.Context(), dst, src, segs, eventstream.Meta{ForkOf: src}))
	return dst
}

func testFork(t *testing.T, s eventstream.Stream) {
	src := create(t, s)
	evs := messages(10)
	appendAll(t, s, src, evs...)
	recs := encodeAll(t, 1, evs...)
	dst := fork(t, s, src, eventstream.Segment{First: 1, Last: 3}, eventstream.Segment{First: 6, Last: 6}, eventstream.Segment{First: 8, Last: 9})
	shared := renumber(pick(recs, 1, 2, 3, 6, 8, 9))
	same(t, "shared", shared, readAll(t, s, dst, 1))
	same(t, "from the middle", shared[4:], readAll(t, s, dst, 5))
	same(t, "info", eventstream.Seq(6), info(t, s, dst).Events)
	same(t, "meta", src, info(t, s, dst).Meta.ForkOf)

	_, err := s.Append(t.Context(), dst, evs[5])
	isKind(t, err, fault.Conflict)
	own := append(messages(2), evs[4]) // was not taken over, so its id is free
	same(t, "own", eventstream.Seq(9), appendAll(t, s, dst, own...))
	want := append(shared, encodeAll(t, 7, own...)...)
	same(t, "all", want, readAll(t, s, dst, 1))
	for _, w := range want {
		got, err := s.Get(t.Context(), dst, w.ID)
		must.Succeed(t, err)
		same(t, "get", w, got)
	}
	_, err = s.Get(t.Context(), dst, evs[9].Meta().ID)
	isKind(t, err, fault.NotFound)

	page, err := s.Search(t.Context(), dst, eventstream.Query{Order: eventstream.Descending, PageID: want[6].ID, Limit: 4})
	must.Succeed(t, err)
	same(t, "search", []eventstream.Record{want[6], want[5], want[4], want[3]}, page.Records)
	same(t, "next", want[2].ID, page.NextID)
	n, err := s.Count(t.Context(), dst, eventstream.Query{Source: event.SourceUser})
	must.Succeed(t, err)
	same(t, "count", 9, n)
	appendAll(t, s, src, messages(1)...)
	same(t, "the source goes on alone", want, readAll(t, s, dst, 1))
	same(t, "the source", 11, len(readAll(t, s, src, 1)))

	isKind(t, s.Fork(t.Context(), dst, src, nil, eventstream.Meta{}), fault.Conflict)
	isKind(t, s.Fork(t.Context(), event.NewConversationID(), event.NewConversationID(), nil, eventstream.Meta{}), fault.NotFound)
	for _, bad := range [][]eventstream.Segment{
		{{First: 0, Last: 1}}, {{First: 3, Last: 2}}, {{First: 1, Last: 12}}, {{First: 1, Last: 3}, {First: 3, Last: 4}}, {{First: 5, Last: 6}, {First: 1, Last: 2}},
	} {
		isKind(t, s.Fork(t.Context(), event.NewConversationID(), src, bad, eventstream.Meta{}), fault.Invalid)
	}
	same(t, "no segments", 0, len(readAll(t, s, fork(t, s, src), 1)))
}

func testForkOfFork(t *testing.T, s eventstream.Stream) {
	src := create(t, s)
	appendAll(t, s, src, messages(10)...)
	a := fork(t, s, src, eventstream.Segment{First: 2, Last: 8})
	appendAll(t, s, a, messages(5)...)
	inA := readAll(t, s, a, 1)
	b := fork(t, s, a, eventstream.Segment{First: 3, Last: 4}, eventstream.Segment{First: 6, Last: 9}, eventstream.Segment{First: 11, Last: 12})
	appendAll(t, s, b, messages(1)...)
	inB := readAll(t, s, b, 1)
	same(t, "b", renumber(pick(inA, 3, 4, 6, 7, 8, 9, 11, 12)), inB[:8])
	_, err := s.Append(t.Context(), b, &event.PauseEvent{Base: event.Base{ID: inA[11].ID}})
	isKind(t, err, fault.Conflict)
	c := fork(t, s, b, eventstream.Segment{First: 1, Last: 9})
	same(t, "c", inB, readAll(t, s, c, 1))
	got, err := s.Get(t.Context(), c, inB[8].ID)
	must.Succeed(t, err)
	same(t, "get", inB[8], got)
}

func testForkOutlives(t *testing.T, s eventstream.Stream) {
	src := create(t, s)
	evs := messages(1000)
	appendAll(t, s, src, evs...)
	a := fork(t, s, src, eventstream.Segment{First: 1, Last: 900})
	b := fork(t, s, a, eventstream.Segment{First: 100, Last: 900})
	want := encodeAll(t, 1, evs...)
	for _, id := range []event.ConversationID{src, a} {
		must.Succeed(t, s.Delete(t.Context(), id))
		appendAll(t, s, b, messages(1)...)
	}
	same(t, "shared", renumber(want[99:900]), readAll(t, s, b, 1)[:801])
	must.Succeed(t, s.Delete(t.Context(), b))
}
