package eventstreamtest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/must"
)

// testListOrder makes conversations side by side. The listing is in the order
// of the times that it shows, the same in both directions and for each size of
// a page.
func testListOrder(t *testing.T, s eventstream.Stream) {
	const makers, each = 8, 15
	var wg sync.WaitGroup
	for range makers {
		wg.Go(func() {
			for range each {
				id := event.NewConversationID()
				must.Report(t, s.Create(context.Background(), id, eventstream.Meta{}))
				if _, err := s.Append(context.Background(), id, event.NewUserMessage("hello")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, byUpdated := range []bool{false, true} {
		page, err := s.List(t.Context(), eventstream.ListQuery{Ascending: true, ByUpdated: byUpdated, Limit: makers * each})
		must.Succeed(t, err)
		var ids []event.ConversationID
		var last time.Time
		for _, i := range page.Infos {
			at := i.Created
			if byUpdated {
				at = i.Updated
			}
			if at.Before(last) {
				t.Fatalf("%v comes behind %v", at, last)
			}
			last = at
			ids = append(ids, i.ID)
		}
		same(t, "listed", makers*each, len(ids))
		same(t, "by pages", ids, listIDs(t, s, eventstream.ListQuery{Ascending: true, ByUpdated: byUpdated, Limit: 7}))
		slices.Reverse(ids)
		same(t, "descending", ids, listIDs(t, s, eventstream.ListQuery{ByUpdated: byUpdated}))
		same(t, "descending by pages", ids, listIDs(t, s, eventstream.ListQuery{ByUpdated: byUpdated, Limit: 7}))
		same(t, "from a conversation on", ids[50:], listIDs(t, s, eventstream.ListQuery{ByUpdated: byUpdated, Limit: 7, PageID: string(ids[50])}))
	}
}

// testListChanges deletes and updates conversations while a listing is walked:
// those that stay as they are come exactly once.
func testListChanges(t *testing.T, s eventstream.Stream) {
	for _, q := range []eventstream.ListQuery{
		{}, {Ascending: true}, {ByUpdated: true}, {ByUpdated: true, Ascending: true}, {ByUpdated: true, Owner: "ann", Status: "idle"},
	} {
		q.Limit = 2
		var ids []event.ConversationID
		for range 12 {
			id := event.NewConversationID()
			must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{Owner: "ann"}))
			ids = append(ids, id)
		}
		if !q.Ascending {
			slices.Reverse(ids)
		}
		seen := map[event.ConversationID]int{}
		for n := 0; ; n++ {
			page, err := s.List(t.Context(), q)
			must.Succeed(t, err)
			for _, i := range page.Infos {
				seen[i.ID]++
			}
			if q.PageID = page.NextID; q.PageID == "" {
				break
			}
			// The next page starts with ids[2*n+2].
			switch n {
			case 0:
				must.Succeed(t, s.Delete(t.Context(), ids[2]))
			case 2:
				appendAll(t, s, ids[7], messages(1)...)
			}
			if n > 12 {
				t.Fatalf("%+v: the walk does not end", q)
			}
		}
		for i, id := range ids {
			if i != 2 && i != 7 && seen[id] != 1 {
				t.Fatalf("%+v: conversation %d was listed %d times", q, i, seen[id])
			}
			if err := s.Delete(t.Context(), id); i != 2 && err != nil {
				t.Fatal(err)
			}
		}
	}
}

// testListFilters selects conversations by title, time, parent and id.
func testListFilters(t *testing.T, s eventstream.Stream) {
	base := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var ids []event.ConversationID
	for i, title := range []string{"Fix the parser", "write DOCS 100%", "fix_me", "Tests"} {
		id := event.NewConversationID()
		meta := eventstream.Meta{Title: title, Created: base.Add(time.Duration(i) * time.Hour)}
		if i == 2 {
			meta.Parent = ids[0]
		}
		must.Succeed(t, s.Create(t.Context(), id, meta))
		ids = append(ids, id)
	}
	at := func(hours int) time.Time { return base.Add(time.Duration(hours) * time.Hour) }
	info, err := s.Info(t.Context(), ids[3])
	must.Succeed(t, err)
	for name, c := range map[string]struct {
		q    eventstream.ListQuery
		want []event.ConversationID
	}{
		"title":          {eventstream.ListQuery{Title: "FIX"}, []event.ConversationID{ids[2], ids[0]}},
		"percent":        {eventstream.ListQuery{Title: "0%"}, []event.ConversationID{ids[1]}},
		"underscore":     {eventstream.ListQuery{Title: "fix_"}, []event.ConversationID{ids[2]}},
		"backslash":      {eventstream.ListQuery{Title: `\`}, nil},
		"created from":   {eventstream.ListQuery{CreatedFrom: at(2)}, []event.ConversationID{ids[3], ids[2]}},
		"created before": {eventstream.ListQuery{CreatedBefore: at(2)}, []event.ConversationID{ids[1], ids[0]}},
		"between":        {eventstream.ListQuery{CreatedFrom: at(1), CreatedBefore: at(2)}, []event.ConversationID{ids[1]}},
		"updated from":   {eventstream.ListQuery{UpdatedFrom: info.Updated}, []event.ConversationID{ids[3]}},
		"updated before": {eventstream.ListQuery{UpdatedBefore: base}, nil},
		"without parent": {eventstream.ListQuery{WithoutParent: true}, []event.ConversationID{ids[3], ids[1], ids[0]}},
		"only":           {eventstream.ListQuery{Only: []event.ConversationID{ids[0], event.NewConversationID(), ids[3]}}, []event.ConversationID{ids[3], ids[0]}},
		"only none":      {eventstream.ListQuery{Only: []event.ConversationID{}}, nil},
		"in pages":       {eventstream.ListQuery{WithoutParent: true, Limit: 1}, []event.ConversationID{ids[3], ids[1], ids[0]}},
	} {
		same(t, name, c.want, listIDs(t, s, c.q))
	}
}

// testListTitles searches titles that were changed, taken away and deleted.
func testListTitles(t *testing.T, s eventstream.Stream) {
	var ids []event.ConversationID
	make := func(title string) {
		id := event.NewConversationID()
		must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{Owner: "ann", Title: title}))
		ids = append(ids, id)
	}
	for _, title := range []string{"alpha beta", "", "say \"beta\" AND NOT gamma*", "Größe in Übersicht", "beta\x00behind", "deleted beta", "日本語のテスト", "q"} {
		make(title)
	}
	for i, meta := range map[int]eventstream.Meta{
		0: {Owner: "ann", Title: "alpha Delta"}, 1: {Owner: "bob", Title: "a new BETA"}, 7: {Owner: "ann"},
	} {
		must.Succeed(t, s.SetMeta(t.Context(), ids[i], meta))
	}
	must.Succeed(t, s.Delete(t.Context(), ids[5]))
	some := func(at ...int) (out []event.ConversationID) {
		for _, i := range at {
			out = append(out, ids[i])
		}
		return out
	}
	for text, want := range map[string][]event.ConversationID{
		"ALPHA":        some(0),
		"delta":        some(0),
		"alpha beta":   nil, // its former title
		"new beta":     some(1),
		`"beta"`:       some(2),
		"AND NOT":      some(2),
		"gamma*":       some(2),
		"gam":          some(2),
		"ga":           some(2),
		"deleted":      nil,
		"Größe":        some(3),
		"größe":        some(3),
		"übersicht":    nil, // only ASCII letters have no case
		"語のテ":          some(6),
		"日":            some(6),
		"q":            nil,
		"\xff\xfe\xfd": nil,
		"':* (":        nil,
	} {
		same(t, text, want, listIDs(t, s, eventstream.ListQuery{Title: text}))
		same(t, text+" by pages", want, listIDs(t, s, eventstream.ListQuery{Title: text, Limit: 1}))
	}
	same(t, "of an owner", some(2), listIDs(t, s, eventstream.ListQuery{Title: `y "beta`, Owner: "ann"}))
	same(t, "of another owner", some(1), listIDs(t, s, eventstream.ListQuery{Title: "beta", Owner: "bob"}))
	same(t, "of an owner, all", some(7, 6, 4, 3, 2, 0), listIDs(t, s, eventstream.ListQuery{Owner: "ann"}))
}

// mostPages ends a listing whose pages have no end.
const mostPages = 10

// Pages returns the conversations of all pages of a listing.
func Pages(t *testing.T, s eventstream.Stream, q eventstream.ListQuery) [][]event.ConversationID {
	t.Helper()
	var pages [][]event.ConversationID
	for len(pages) == 0 || q.PageID != "" && len(pages) < mostPages {
		page, err := s.List(t.Context(), q)
		must.Succeed(t, err)
		var ids []event.ConversationID
		for _, i := range page.Infos {
			ids = append(ids, i.ID)
		}
		pages, q.PageID = append(pages, ids), page.NextID
	}
	return pages
}
