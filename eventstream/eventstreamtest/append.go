package eventstreamtest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

func testAppend(t *testing.T, s eventstream.Stream) {
	id, other := create(t, s), create(t, s)
	evs := messages(5)
	same(t, "first", eventstream.Seq(2), appendAll(t, s, id, evs[:2]...))
	same(t, "none", eventstream.Seq(2), appendAll(t, s, id))
	same(t, "rest", eventstream.Seq(5), appendAll(t, s, id, evs[2:]...))
	same(t, "other", eventstream.Seq(1), appendAll(t, s, other, evs[0])) // ids are unique in a conversation only
	same(t, "stored", encodeAll(t, 1, evs...), readAll(t, s, id, 1))
	same(t, "other stored", encodeAll(t, 1, evs[0]), readAll(t, s, other, 1))
}

func testAppendRefused(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	evs := messages(3)
	appendAll(t, s, id, evs[0])
	_, err := s.Append(t.Context(), event.NewConversationID(), evs[1])
	isKind(t, err, fault.NotFound)
	_, err = s.Append(t.Context(), id, evs[1], evs[0])
	isKind(t, err, fault.Conflict)
	_, err = s.Append(t.Context(), id, evs[2], evs[2])
	isKind(t, err, fault.Conflict)
	_, err = s.Append(t.Context(), id, evs[1], &event.MessageEvent{})
	isKind(t, err, fault.Invalid)
	_, err = s.AppendRecords(t.Context(), id, eventstream.Record{ID: "x", Kind: "K", JSON: json.RawMessage("{")})
	isKind(t, err, fault.Invalid)
	_, err = s.AppendRecords(t.Context(), id, eventstream.Record{ID: "x", Kind: "K", JSON: json.RawMessage("[]")})
	isKind(t, err, fault.Invalid)
	same(t, "stored", encodeAll(t, 1, evs[0]), readAll(t, s, id, 1))
	same(t, "next", eventstream.Seq(3), appendAll(t, s, id, evs[1:]...))
	same(t, "all", encodeAll(t, 1, evs...), readAll(t, s, id, 1))
}

func testAppendCanceled(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cancel()
	_, err := s.Append(ctx, id, messages(1)...)
	isKind(t, err, fault.Canceled)
	same(t, "stored", 0, len(readAll(t, s, id, 1)))
}

// testBytes appends records with everything that is hard to keep as it was.
func testBytes(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	big := make([]byte, 3<<20)
	for i := range big {
		big[i] = byte('a' + i%26)
	}
	recs := []eventstream.Record{
		rawRecord("not-a-uuid", "NobodyKnowsEvent", "martian", "yesterday", "", ""),
		rawRecord("0123456789ABCDEF", "K", "user", "", event.Root, `,"n": 1.50,  "s":"\u0041é 𝄞 \u0000"`),
		rawRecord("0F0E0D0C-0B0A-4908-8706-050403020100", "K", "", "2026-01-01T00:00:00", "not-a-uuid", ""),
		rawRecord("0f0e0d0c-0b0a-4908-8706-050403020100", "K", "agent", "2026-01-01T00:00:00.000000", "0f0e0d0c-0b0a-4908-8706-05040302010f", ""),
		rawRecord("big", "K", "agent", "2026-01-01T00:00:00.000000", "", `,"big":"`+string(big)+`"`),
		rawRecord("nul\x00id", "K\x00", "a\x00", "t\x00", "p\x00", ""),
		{ID: "spaces", Kind: "K", JSON: json.RawMessage("{ \n\t}")},
	}
	if _, err := s.AppendRecords(t.Context(), id, recs...); err != nil {
		t.Fatal(err)
	}
	want := renumber(recs)
	same(t, "read", want, readAll(t, s, id, 1))
	for _, w := range want {
		got, err := s.Get(t.Context(), id, w.ID)
		must.Succeed(t, err)
		same(t, "get", w, got)
	}
}

func testStatus(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	status := func() string {
		info, err := s.Info(t.Context(), id)
		must.Succeed(t, err)
		return info.Status
	}
	appendAll(t, s, id, messages(1)...)
	same(t, "at first", "", status())
	appendAll(t, s, id, stateUpdate(t, "execution_status", "running"), stateUpdate(t, "stats", "idle"))
	same(t, "running", "running", status())
	appendAll(t, s, id, stateUpdate(t, "execution_status", "paused"), stateUpdate(t, "execution_status", "finished"))
	same(t, "finished", "finished", status())
	up := stateUpdate(t, "execution_status", "error")
	if _, err := s.Append(t.Context(), id, up, up); err == nil {
		t.Fatal("the same event was appended twice")
	}
	same(t, "after a refused append", "finished", status())
	appendAll(t, s, id, stateUpdate(t, "execution_status", 7), stateUpdate(t, "execution_status", nil))
	same(t, "not a string", "finished", status())
}

func testCost(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	stats := func(agent, condenser float64) event.Event {
		return stateUpdate(t, "stats", map[string]any{"usage_to_metrics": map[string]any{
			"agent":     map[string]any{"accumulated_cost": agent, "model_name": "m"},
			"condenser": map[string]any{"accumulated_cost": condenser},
		}})
	}
	same(t, "at first", 0.0, info(t, s, id).Cost)
	appendAll(t, s, id, stats(1, 0.5), stateUpdate(t, "execution_status", "running"))
	same(t, "all services", 1.5, info(t, s, id).Cost)
	appendAll(t, s, id, stats(2, 0.5), stats(2.25, 0.5))
	same(t, "the last update", 2.75, info(t, s, id).Cost)
	appendAll(t, s, id, stateUpdate(t, "stats", "none"), stateUpdate(t, "note", map[string]any{"stats": 7}))
	same(t, "other updates", 2.75, info(t, s, id).Cost)
	dst := fork(t, s, id, eventstream.Segment{First: 1, Last: 2})
	same(t, "a fork starts with it", 2.75, info(t, s, dst).Cost)
	appendAll(t, s, dst, stateUpdate(t, "stats", map[string]any{"usage_to_metrics": map[string]any{}}))
	same(t, "reset", 0.0, info(t, s, dst).Cost)
	same(t, "the source", 2.75, info(t, s, id).Cost)
	page, err := s.List(t.Context(), eventstream.ListQuery{})
	if err != nil || len(page.Infos) != 2 {
		t.Fatal(page.Infos, err)
	}
	same(t, "listed", 2.75, page.Infos[1].Cost)
}
