package eventstream_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestFind looks for conversations in a store of several, of which the oldest
// was changed last; after that the newest was only looked at, which keeps a
// summary.
func TestFind(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	must.Succeed(t, err)
	defer s.Close()
	if _, err := eventstream.Find(t.Context(), s, eventstream.LastAnywhere, "/w"); !fault.Is(err, fault.NotFound) {
		t.Errorf("in an empty store: %v", err)
	}
	ids := []event.ConversationID{
		"aaaaaaaa-1111-4111-8111-111111111111", "aaaaaaaa-2222-4222-8222-222222222222", "bbbbbbbb-3333-4333-8333-333333333333",
	}
	for _, id := range ids {
		must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{}))
	}
	for _, id := range []event.ConversationID{ids[1], ids[2], ids[0]} {
		if _, err := s.Append(t.Context(), id, event.NewUserMessage("x")); err != nil {
			t.Fatal(err)
		}
	}
	must.Succeed(t, s.SetMeta(t.Context(), ids[2], eventstream.Meta{Summary: []byte(`{}`), SummaryAt: 1}))
	for name, want := range map[string]event.ConversationID{
		eventstream.Last: ids[0], eventstream.LastAnywhere: ids[0], string(ids[1]): ids[1], ids[1].Hex(): ids[1], "AAAAAAAA-2": ids[1], "b": ids[2],
	} {
		if got, err := eventstream.Find(t.Context(), s, name, "/w"); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	for name, kind := range map[string]fault.Kind{
		"a": fault.Invalid, "c": fault.NotFound, "": fault.NotFound, "00000000-0000-4000-8000-000000000000": fault.NotFound,
	} {
		if _, err := eventstream.Find(t.Context(), s, name, "/w"); !fault.Is(err, kind) {
			t.Errorf("%q: %v, want %s", name, err, kind)
		}
	}
	// The sub-agent's conversation has changed later than the one that it belongs to.
	child := event.ConversationID("cccccccc-4444-4444-8444-444444444444")
	must.Succeed(t, s.Create(t.Context(), child, eventstream.Meta{Parent: ids[0]}))
	if got, err := eventstream.Find(t.Context(), s, eventstream.LastAnywhere, "/w"); err != nil || got != ids[0] {
		t.Errorf("with a sub-agent: %s, %v", got, err)
	}
	must.Succeed(t, s.Delete(t.Context(), child))
	// Lists show the last one first, page by page.
	page, err := s.List(t.Context(), eventstream.ListQuery{ByUpdated: true, Limit: 1})
	if err != nil || !slices.ContainsFunc(page.Infos, func(i eventstream.Info) bool { return i.ID == ids[0] }) {
		t.Errorf("the first of a listing: %v, %v", page.Infos, err)
	}
}

// TestFindLastOfDirectory takes the last conversation of a directory or of one around it, and no
// other project's.
func TestFindLastOfDirectory(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
	must.Succeed(t, err)
	defer s.Close()
	ids := map[string]event.ConversationID{}
	for _, dir := range []string{"/src/a", "/src/b", "/src/ab"} {
		ids[dir] = event.NewConversationID()
		must.Succeed(t, s.Create(t.Context(), ids[dir], eventstream.Meta{WorkingDir: dir}))
	}
	for dir, want := range map[string]string{"/src/a": "/src/a", "/src/a/deep/down": "/src/a", "/src/b": "/src/b"} {
		if got, err := eventstream.Find(t.Context(), s, eventstream.Last, dir); err != nil || got != ids[want] {
			t.Errorf("in %s: %s, %v, want that of %s", dir, got, err, want)
		}
	}
	for _, dir := range []string{"/src", "/src/abc", "/"} {
		_, err := eventstream.Find(t.Context(), s, eventstream.Last, dir)
		if !fault.Is(err, fault.NotFound) || !strings.Contains(fault.HintOf(err), string(ids["/src/ab"])) {
			t.Errorf("in %s: %v, %s", dir, err, fault.HintOf(err))
		}
	}
	if got, err := eventstream.Find(t.Context(), s, eventstream.LastAnywhere, "/src/a"); err != nil || got != ids["/src/ab"] {
		t.Errorf("anywhere: %s, %v", got, err)
	}
}
