package eventstreamtest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

func info(t testing.TB, s eventstream.Stream, id event.ConversationID) eventstream.Info {
	t.Helper()
	i, err := s.Info(t.Context(), id)
	must.Succeed(t, err)
	last, err := s.Last(t.Context(), id)
	must.Succeed(t, err)
	if last < i.Events {
		t.Errorf("the last event is %d after it was %d", last, i.Events)
	}
	return i
}

func testConversations(t *testing.T, s eventstream.Stream) {
	id := event.NewConversationID()
	meta := eventstream.Meta{
		Owner: "somebody@example.com", Title: "A title \x00 'quoted'", Tags: map[string]string{"a": "b"}, WorkingDir: "/w",
		Parent: event.NewConversationID(), ForkOf: event.NewConversationID(), Extra: json.RawMessage(`{"n":1}`),
		Summary: json.RawMessage(`{"about":"\u0000 it"}`), SummaryAt: 7,
	}
	must.Succeed(t, s.Create(t.Context(), id, meta))
	isKind(t, s.Create(t.Context(), id, eventstream.Meta{}), fault.Conflict)
	isKind(t, s.Create(t.Context(), "", eventstream.Meta{}), fault.Invalid)
	got := info(t, s, id)
	same(t, "meta", meta, got.Meta)
	page, err := s.List(t.Context(), eventstream.ListQuery{})
	if err != nil || len(page.Infos) != 1 {
		t.Fatal(page, err)
	}
	listed := got
	listed.Meta.Extra = nil
	same(t, "listed without Extra", listed, page.Infos[0])
	isKind(t, s.SetMeta(t.Context(), id, eventstream.Meta{Summary: json.RawMessage("{")}), fault.Invalid)
	isKind(t, s.SetMeta(t.Context(), id, eventstream.Meta{Extra: json.RawMessage("")}), fault.Invalid)
	same(t, "events", eventstream.Seq(0), got.Events)
	same(t, "id", id, got.ID)
	if got.Created.IsZero() || got.Updated.Before(got.Created) {
		t.Fatalf("created %v, updated %v", got.Created, got.Updated)
	}
	made := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	old := event.NewConversationID()
	must.Succeed(t, s.Create(t.Context(), old, eventstream.Meta{Created: made}))
	same(t, "given time of creation", made, info(t, s, old).Created)
	page, err = s.List(t.Context(), eventstream.ListQuery{Ascending: true, Limit: 1})
	if err != nil || len(page.Infos) != 1 {
		t.Fatal(page, err)
	}
	same(t, "oldest", old, page.Infos[0].ID)
	must.Succeed(t, s.Delete(t.Context(), old))
	appendAll(t, s, id, messages(3)...)
	after := info(t, s, id)
	same(t, "events", eventstream.Seq(3), after.Events)
	last, err := s.Last(t.Context(), id)
	must.Succeed(t, err)
	same(t, "last", eventstream.Seq(3), last)
	same(t, "created", got.Created, after.Created)
	if after.Updated.Before(got.Updated) {
		t.Fatalf("updated went back from %v to %v", got.Updated, after.Updated)
	}
	must.Succeed(t, s.SetMeta(t.Context(), id, eventstream.Meta{Title: "new"}))
	same(t, "new meta", eventstream.Meta{Title: "new"}, info(t, s, id).Meta)
	same(t, "events stay", 3, len(readAll(t, s, id, 1)))

	unknown := event.NewConversationID()
	_, err = s.Info(t.Context(), unknown)
	isKind(t, err, fault.NotFound)
	_, err = s.Last(t.Context(), unknown)
	isKind(t, err, fault.NotFound)
	isKind(t, s.SetMeta(t.Context(), unknown, eventstream.Meta{}), fault.NotFound)
	isKind(t, s.Delete(t.Context(), unknown), fault.NotFound)
}

func testWorkingDirs(t *testing.T, s eventstream.Stream) {
	for _, dir := range []string{"/a", "/b", "", "/c", "/b"} {
		must.Succeed(t, s.Create(t.Context(), event.NewConversationID(), eventstream.Meta{WorkingDir: dir}))
	}
	for n, want := range map[int][]string{0: nil, 1: {"/b"}, 3: {"/b", "/c"}, 100: {"/b", "/c", "/a"}} {
		dirs, err := s.WorkingDirs(t.Context(), n)
		must.Succeed(t, err)
		same(t, fmt.Sprintf("of the newest %d", n), want, dirs)
	}
}

func listIDs(t *testing.T, s eventstream.Stream, q eventstream.ListQuery) (ids []event.ConversationID) {
	t.Helper()
	if q.PageID == "" {
		defer func() {
			n, err := s.CountConversations(t.Context(), q)
			must.Succeed(t, err)
			same(t, "counted", len(ids), n)
		}()
	}
	for {
		page, err := s.List(t.Context(), q)
		must.Succeed(t, err)
		for _, i := range page.Infos {
			ids = append(ids, i.ID)
		}
		if q.PageID = page.NextID; q.PageID == "" {
			return ids
		}
	}
}

func testList(t *testing.T, s eventstream.Stream) {
	same(t, "none", 0, len(listIDs(t, s, eventstream.ListQuery{})))
	var up, down []event.ConversationID
	for range 7 {
		id := create(t, s)
		up = append(up, id)
		down = append([]event.ConversationID{id}, down...)
	}
	same(t, "newest first", down, listIDs(t, s, eventstream.ListQuery{}))
	same(t, "by pages", down, listIDs(t, s, eventstream.ListQuery{Limit: 3}))
	same(t, "ascending", up, listIDs(t, s, eventstream.ListQuery{Limit: 2, Ascending: true}))
	same(t, "unknown page", down, listIDs(t, s, eventstream.ListQuery{PageID: "nope"}))
	appendAll(t, s, up[2], stateUpdate(t, "execution_status", "running"))
	appendAll(t, s, up[0], stateUpdate(t, "execution_status", "running"))
	same(t, "running", []event.ConversationID{up[2], up[0]}, listIDs(t, s, eventstream.ListQuery{Status: "running", Limit: 1}))
	same(t, "idle, without an update", []event.ConversationID{up[6], up[5], up[4], up[3], up[1]}, listIDs(t, s, eventstream.ListQuery{Status: "idle", Limit: 2}))
	appendAll(t, s, up[2], stateUpdate(t, "execution_status", "idle"))
	same(t, "idle by an update", []event.ConversationID{up[6], up[5], up[4], up[3], up[2], up[1]}, listIDs(t, s, eventstream.ListQuery{Status: "idle"}))
	appendAll(t, s, up[0], stateUpdate(t, "execution_status", "paused"))
	same(t, "by updated", []event.ConversationID{up[0], up[2], up[6], up[5], up[4], up[3], up[1]}, listIDs(t, s, eventstream.ListQuery{ByUpdated: true, Limit: 2}))
	for _, m := range []struct {
		meta eventstream.Meta
		at   int // the new place of up[1], which is last
	}{
		{eventstream.Meta{Summary: []byte(`{}`), Extra: []byte(`{}`), SummaryAt: 1}, 6}, {eventstream.Meta{Title: "another"}, 0},
	} {
		must.Succeed(t, s.SetMeta(t.Context(), up[1], m.meta))
		same(t, fmt.Sprintf("after %+v", m.meta), up[1], listIDs(t, s, eventstream.ListQuery{ByUpdated: true, Limit: 2})[m.at])
	}
	appendAll(t, s, up[0], stateUpdate(t, "execution_status", "paused"))
	page, err := s.List(t.Context(), eventstream.ListQuery{ByUpdated: true, Limit: 1})
	must.Succeed(t, err)
	same(t, "info", info(t, s, up[0]), page.Infos[0])
}

func testListOwner(t *testing.T, s eventstream.Stream) {
	var ann, bob, none []event.ConversationID
	for i := range 9 {
		id := event.NewConversationID()
		to, owner := &none, ""
		switch i % 3 {
		case 0:
			to, owner = &ann, "ann"
		case 1:
			to, owner = &bob, "bob' OR 1 --"
		}
		*to = append(*to, id)
		must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{Owner: owner}))
	}
	for _, byUpdated := range []bool{false, true} {
		q := eventstream.ListQuery{Ascending: true, ByUpdated: byUpdated, Limit: 2}
		same(t, "all", 9, len(listIDs(t, s, q)))
		q.Owner = "ann"
		same(t, "ann's", ann, listIDs(t, s, q))
		q.Owner = "bob' OR 1 --"
		same(t, "bob's", bob, listIDs(t, s, q))
		q.Owner = "an"
		same(t, "nobody's", 0, len(listIDs(t, s, q)))
	}
	appendAll(t, s, ann[1], stateUpdate(t, "execution_status", "running"))
	appendAll(t, s, bob[1], stateUpdate(t, "execution_status", "running"))
	q := eventstream.ListQuery{Owner: "ann", Status: "running"}
	same(t, "ann's running", ann[1:2], listIDs(t, s, q))
	must.Succeed(t, s.SetMeta(t.Context(), ann[1], eventstream.Meta{Owner: "carl"}))
	same(t, "given away", 0, len(listIDs(t, s, q)))
	q.Owner = "carl"
	same(t, "carl's", ann[1:2], listIDs(t, s, q))
}

func testDelete(t *testing.T, s eventstream.Stream) {
	id, other := create(t, s), create(t, s)
	evs := messages(700)
	appendAll(t, s, id, evs...)
	appendAll(t, s, other, evs...)
	must.Succeed(t, s.Delete(t.Context(), id))
	_, err := s.Info(t.Context(), id)
	isKind(t, err, fault.NotFound)
	_, err = s.Append(t.Context(), id, messages(1)...)
	isKind(t, err, fault.NotFound)
	_, err = s.Get(t.Context(), id, evs[0].Meta().ID)
	isKind(t, err, fault.NotFound)
	must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{}))
	same(t, "made anew", 0, len(readAll(t, s, id, 1)))
	same(t, "other", 700, len(readAll(t, s, other, 1)))
	same(t, "listed", 2, len(listIDs(t, s, eventstream.ListQuery{})))
}

func testClosed(t *testing.T, s eventstream.Stream) {
	id := create(t, s)
	must.Succeed(t, s.Close())
	if _, err := s.Append(t.Context(), id, messages(1)...); err == nil {
		t.Fatal("a closed stream took an event")
	}
	if _, err := s.Info(t.Context(), id); err == nil {
		t.Fatal("a closed stream gave an answer")
	}
	for _, err := range s.Follow(t.Context(), id, 1) {
		if err == nil {
			t.Fatal("a closed stream gave an event")
		}
	}
}
