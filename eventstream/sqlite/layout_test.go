package sqlite_test

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
)

// layoutSample makes a store of two conversations, one of them a fork with
// events of its own, and returns how many events each has.
func layoutSample(t *testing.T) (dir string, want map[event.ConversationID]int) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	a, b := newConversation(t, s), event.NewConversationID()
	fill(t, s, a, 700)
	if err := s.Fork(t.Context(), b, a, []eventstream.Segment{{First: 10, Last: 90}}, eventstream.Meta{}); err != nil {
		t.Fatal(err)
	}
	fill(t, s, b, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, map[event.ConversationID]int{a: 700, b: 181}
}

// TestLostRows deletes rows behind SQLite's back. Whatever the row was, it
// shows as damage, never as fewer events or as a free id.
func TestLostRows(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"lump":           "DELETE FROM places WHERE lump = (SELECT lump FROM places ORDER BY lump LIMIT 1 OFFSET 1)",
		"changed lump":   "UPDATE places SET body = zeroblob(length(body)) WHERE lump & 0xffffff = 1",
		"swapped lumps":  "UPDATE places SET body = (SELECT body FROM places ORDER BY lump LIMIT 1) WHERE lump & 0xffffff = 1",
		"chunk":          "DELETE FROM chunks WHERE chunk = 3",
		"swapped chunks": "UPDATE chunks SET recs = (SELECT recs FROM chunks WHERE chunk = 4) WHERE chunk = 3",
		"all lumps":      "DELETE FROM places",
		"tail":           "UPDATE heads SET tail = x''",
		"head":           "DELETE FROM heads",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, want := layoutSample(t)
			if err := execSQL(dir, change); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
			if err != nil {
				isDamage(t, err, name)
				return
			}
			defer s.Close()
			reported := false
			for id, events := range want {
				n := 0
				var failed error
				for r, err := range s.Read(t.Context(), id, 1) {
					if failed = err; err != nil {
						isDamage(t, err, name)
						reported = true
						break
					}
					if n++; int(r.Seq) != n {
						t.Fatalf("event %d at place %d", r.Seq, n)
					}
				}
				if failed == nil && n != events {
					t.Fatalf("%d of %d events and no error", n, events)
				}
			}
			if !reported {
				t.Fatal("nothing is reported")
			}
		})
	}
}

// TestLostIDs damages the list of ids: an id that was taken is never taken
// for a new one.
func TestLostIDs(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"all":     "DELETE FROM ids",
		"last":    "DELETE FROM ids WHERE bucket = (SELECT max(bucket) FROM ids)",
		"changed": "UPDATE ids SET body = zeroblob(length(body))",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir)
			id := newConversation(t, s)
			first := event.NewUserMessage("first")
			if _, err := s.Append(t.Context(), id, first); err != nil {
				t.Fatal(err)
			}
			fill(t, s, id, 300)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := execSQL(dir, change); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
			if _, err := s.Append(t.Context(), id, first); !fault.Is(err, fault.Corrupt) {
				t.Errorf("appending a taken id gives %v", err)
			}
			if _, err := s.Get(t.Context(), id, first.ID); !fault.Is(err, fault.Corrupt) {
				t.Errorf("getting it gives %v", err)
			}
			checkIntact(t, s, id, 301)
			if err := s.Delete(t.Context(), id); err != nil {
				t.Errorf("deleting the conversation: %v", err)
			}
		})
	}
}

// TestSalvageLayout salvages stores that have lost what tells where their
// events are: the events themselves are enough.
func TestSalvageLayout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  string
		unnamed bool
	}{
		"places":        {"DELETE FROM places", false},
		"ids":           {"DELETE FROM ids", false},
		"conversations": {"DELETE FROM conversations", true},
		"heads":         {"DELETE FROM heads", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, want := layoutSample(t)
			if err := execSQL(dir, tc.change); err != nil {
				t.Fatal(err)
			}
			into := t.TempDir()
			rep, err := sqlite.Salvage(t.Context(), dir, into)
			if err != nil {
				t.Fatal(err)
			}
			s := open(t, into)
			total := 0
			for _, c := range rep.Conversations {
				if c.Unnamed != tc.unnamed || len(c.Lost) > 0 || c.LostTail {
					t.Errorf("salvaged %+v", c)
				}
				if !tc.unnamed && c.Events != want[c.ID] {
					t.Errorf("salvaged %d of %d events", c.Events, want[c.ID])
				}
				checkIntact(t, s, c.ID, c.Events)
				total += c.Events
			}
			// Without names, what was shared is there once.
			if tc.unnamed && total != 800 || len(rep.Conversations) != 2 {
				t.Errorf("salvaged %d events in %d conversations", total, len(rep.Conversations))
			}
		})
	}
}

// TestManyIDs appends more ids than a filter first holds, from a store that
// forgets them in between: each is found, and none is taken twice.
func TestManyIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	id := newConversation(t, s)
	var evs []event.Event
	for round := range 6 {
		for range 400 {
			evs = append(evs, event.NewUserMessage("x"))
		}
		if _, err := s.Append(t.Context(), id, evs[400*round:]...); err != nil {
			t.Fatal(err)
		}
		for i := round; i < len(evs); i += 50 {
			if _, err := s.Append(t.Context(), id, evs[i]); !fault.Is(err, fault.Conflict) {
				t.Fatalf("appending event %d again gives %v", i+1, err)
			}
			r, err := s.Get(t.Context(), id, evs[i].Meta().ID)
			if err != nil || int(r.Seq) != i+1 {
				t.Fatalf("event %d is found as %d (%v)", i+1, r.Seq, err)
			}
		}
		if round == 2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
		}
	}
	checkIntact(t, s, id, len(evs))
}

// TestLastOfDamage never takes a number from a row that was changed.
func TestLastOfDamage(t *testing.T) {
	t.Parallel()
	dir, want := layoutSample(t)
	if err := execSQL(dir, "UPDATE heads SET events = events + 1"); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		isDamage(t, err, "opening")
		return
	}
	defer s.Close()
	for id := range want {
		last, err := s.Last(t.Context(), id)
		if err == nil {
			t.Fatalf("the last event is %d, and no error", last)
		}
		isDamage(t, err, "last")
	}
}
