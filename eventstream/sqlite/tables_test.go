package sqlite_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestReadable reads the tables as a user would, with another client while the
// store is open.
func TestReadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	id, other := event.NewConversationID(), event.NewConversationID()
	meta := eventstream.Meta{
		Owner: "ann", Title: "A title", Tags: map[string]string{"team": "blue"}, WorkingDir: "/w",
		Extra: json.RawMessage(`{"agent":"codeact"}`),
	}
	must.Succeed(t, s.Create(t.Context(), id, meta))
	fill(t, s, id, 10)
	running, err := event.NewStateUpdate("execution_status", "running")
	must.Succeed(t, err)
	stats, err := event.NewStateUpdate("stats", json.RawMessage(`{"usage_to_metrics":{"agent":{"accumulated_cost":0.25}}}`))
	must.Succeed(t, err)
	if _, err := s.Append(t.Context(), id, running, stats); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, s.Fork(t.Context(), other, id, []eventstream.Segment{{First: 2, Last: 4}, {First: 8, Last: 9}}, eventstream.Meta{ForkOf: id}))
	fill(t, s, other, 3)

	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db")+"?mode=ro")
	must.Succeed(t, err)
	defer db.Close()
	var row string
	if err := db.QueryRow(`SELECT concat_ws('|', owner, title, status, tags ->> 'team', events, cost, working_dir, extra ->> 'agent',
		created_at <= updated_at AND unixepoch(created_at) > 0) FROM conversations JOIN documents ON conversation = key WHERE id = ?`, string(id)).Scan(&row); err != nil {
		t.Fatal(err)
	}
	if want := "ann|A title|running|blue|12|0.25|/w|codeact|1"; row != want {
		t.Errorf("the conversation reads %s, want %s", row, want)
	}
	for _, id := range []event.ConversationID{id, other} {
		rows, err := db.Query("SELECT seq, id, parent_id, kind, source, timestamp, body FROM conversation_events WHERE conversation = ? ORDER BY seq", string(id))
		must.Succeed(t, err)
		defer rows.Close()
		for want, err := range s.Read(t.Context(), id, 1) {
			if err != nil || !rows.Next() {
				t.Fatalf("the table ends before event %d: %v, %v", want.Seq, err, rows.Err())
			}
			var got eventstream.Record
			var body string
			must.Succeed(t, rows.Scan(&got.Seq, &got.ID, &got.ParentID, &got.Kind, &got.Source, &got.Timestamp, &body))
			if got.JSON = json.RawMessage(body); !reflect.DeepEqual(got, want) {
				t.Fatalf("the table has %+v, want %+v", got, want)
			}
		}
		if rows.Next() {
			t.Error("the table goes on behind the last event")
		}
	}
}

// makeFork makes a store of two conversations, one of them a fork with events
// of its own, and returns how many events each has.
func makeFork(t *testing.T) (dir string, want map[event.ConversationID]int) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir)
	a, b := newConversation(t, s), event.NewConversationID()
	fill(t, s, a, 700)
	must.Succeed(t, s.Fork(t.Context(), b, a, []eventstream.Segment{{First: 10, Last: 90}}, eventstream.Meta{}))
	fill(t, s, b, 100)
	must.Succeed(t, s.Close())
	return dir, map[event.ConversationID]int{a: 700, b: 181}
}

// TestLostRows deletes and changes rows without the store. Whatever the row
// was, it shows as damage and never as fewer events.
func TestLostRows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change string
		seq    int // that the error names, 0 for none
	}{
		"event":            {"DELETE FROM events WHERE conversation = 1 AND seq = 5", 5},
		"shared event":     {"DELETE FROM events WHERE conversation = 1 AND seq = 50", 50},
		"first event":      {"DELETE FROM events WHERE conversation = 1 AND seq = 1", 1},
		"last event":       {"DELETE FROM events WHERE conversation = 1 AND seq = 700", 700},
		"tail":             {"DELETE FROM events WHERE conversation = 1 AND seq > 600", 601},
		"all events":       {"DELETE FROM events", 1},
		"changed body":     {"UPDATE events SET body = replace(body, 'hello', 'hallo') WHERE seq = 3", 3},
		"changed kind":     {"UPDATE events SET kind = 'PauseEvent' WHERE seq = 3", 3},
		"changed id":       {"UPDATE events SET id = 'x' WHERE seq = 3", 3},
		"changed parent":   {"UPDATE events SET parent_id = 'x' WHERE seq = 3", 3},
		"changed source":   {"UPDATE events SET source = 'agent' WHERE seq = 3", 3},
		"changed time":     {"UPDATE events SET timestamp = '2026' WHERE seq = 3", 3},
		"wrong type":       {"UPDATE events SET kind = x'00' WHERE seq = 3", 3},
		"swapped events":   {"UPDATE events SET seq = CASE seq WHEN 3 THEN -4 ELSE -3 END WHERE seq IN (3, 4); UPDATE events SET seq = -seq WHERE seq < 0", 3},
		"moved event":      {"UPDATE events SET conversation = 9 WHERE conversation = 1 AND seq = 8", 8},
		"segment":          {"DELETE FROM segments", 0},
		"changed segment":  {"UPDATE segments SET source_first = source_first + 1", 0},
		"fewer events":     {"UPDATE conversations SET events = events - 1", 0},
		"more events":      {"UPDATE conversations SET events = events + 1", 0},
		"other base":       {"UPDATE conversations SET shared = shared - 1 WHERE shared > 0", 0},
		"changed title":    {"UPDATE conversations SET title = 'x'", 0},
		"changed id of it": {"UPDATE conversations SET id = upper(id)", 0},
		"no conversations": {"DELETE FROM conversations", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, want := makeFork(t)
			must.Succeed(t, execSQL(dir, tc.change))
			s := open(t, dir)
			reported := ""
			for id, events := range want {
				n := 0
				var failed error
				for r, err := range s.Read(t.Context(), id, 1) {
					if failed = err; err != nil {
						isDamage(t, err, name)
						reported += err.Error()
						break
					}
					if n++; int(r.Seq) != n {
						t.Fatalf("event %d at position %d", r.Seq, n)
					}
				}
				if failed == nil && n != events {
					t.Fatalf("%d of %d events and no error", n, events)
				}
				last, err := s.Last(t.Context(), id)
				if err != nil {
					isDamage(t, err, name)
				} else if int(last) != events {
					t.Errorf("the last event is %d, want %d", last, events)
				}
			}
			if reported == "" || tc.seq > 0 && !strings.Contains(reported, fmt.Sprintf("event %d of conversation ", tc.seq)) {
				t.Fatalf("reported is %q, want it to name event %d", reported, tc.seq)
			}
		})
	}
}

// TestSearchDamage searches for a damaged event and one that is lost.
func TestSearchDamage(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"changed": "UPDATE events SET body = replace(body, 'hello', 'hallo') WHERE seq = 30",
		"lost":    "DELETE FROM events WHERE seq = 30",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, want := makeFork(t)
			must.Succeed(t, execSQL(dir, change))
			s := open(t, dir)
			for id, events := range want {
				if events != 700 {
					continue
				}
				for _, order := range []eventstream.Order{eventstream.Ascending, eventstream.Descending} {
					_, err := s.Search(t.Context(), id, eventstream.Query{Limit: 1000, Order: order})
					if !fault.Is(err, fault.Corrupt) || !strings.Contains(err.Error(), "event 30 ") {
						t.Errorf("search in order %d gives %v", order, err)
					}
				}
				page, err := s.Search(t.Context(), id, eventstream.Query{Limit: 10})
				if err != nil || len(page.Records) != 10 {
					t.Errorf("a page before it gives %d events and %v", len(page.Records), err)
				}
				if name == "lost" {
					continue // a search by kind finds every row there
				}
				if _, err := s.Search(t.Context(), id, eventstream.Query{Limit: 1000, Kinds: []string{"MessageEvent"}}); !fault.Is(err, fault.Corrupt) {
					t.Errorf("search by kind gives %v", err)
				}
				if _, err := s.Count(t.Context(), id, eventstream.Query{Body: "hello"}); !fault.Is(err, fault.Corrupt) {
					t.Errorf("count by body gives %v", err)
				}
			}
		})
	}
}

// TestSalvageLostRows salvages stores that have lost rows or indexes: the
// events themselves are enough.
func TestSalvageLostRows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  string
		unnamed int // conversations
		total   int // events
	}{
		"indexes":       {"DROP INDEX events_id; DROP INDEX events_kind; DROP INDEX conversations_created", 0, 881},
		"conversations": {"DELETE FROM conversations", 2, 800}, // shared events come once
		"segments":      {"DELETE FROM segments", 1, 800},
		"one changed":   {"UPDATE conversations SET title = 'x' WHERE shared > 0", 1, 800},
		"one event":     {"DELETE FROM events WHERE seq = 20", 0, 879},
		"some events":   {"UPDATE events SET body = 'x' WHERE seq > 690", 0, 871},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, want := makeFork(t)
			must.Succeed(t, execSQL(dir, tc.change))
			into := t.TempDir()
			rep, err := sqlite.Salvage(t.Context(), dir, into)
			must.Succeed(t, err)
			s := open(t, into)
			total, unnamed := 0, 0
			for _, c := range rep.Conversations {
				if c.Unnamed {
					unnamed++
				} else if c.Events+len(c.Lost) != want[c.ID] || c.LostTail != (name == "some events" && want[c.ID] == 700) {
					t.Errorf("salvaged %+v of %d events", c, want[c.ID])
				}
				checkIntact(t, s, c.ID, c.Events)
				total += c.Events
			}
			if unnamed != tc.unnamed || total != tc.total || len(rep.Conversations) != 2 {
				t.Errorf("salvaged %d events in %d conversations, %d of them unnamed", total, len(rep.Conversations), unnamed)
			}
		})
	}
}

// TestSalvageDeleted deletes a conversation whose events a fork shares: a salvage brings back the
// fork only, and the source too where its row was lost.
func TestSalvageDeleted(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*testing.T, string, event.ConversationID){
		"deleted": func(t *testing.T, dir string, id event.ConversationID) {
			s := open(t, dir)
			must.Succeed(t, s.Delete(t.Context(), id))
			settleCleanup(t, s)
		},
		"lost": func(t *testing.T, dir string, id event.ConversationID) {
			must.Succeed(t, execSQL(dir, "DELETE FROM conversations WHERE id = '"+string(id)+"'"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, want := makeFork(t)
			for id, events := range want {
				if events == 700 {
					remove(t, dir, id)
				}
			}
			rep, err := sqlite.Salvage(t.Context(), dir, t.TempDir())
			must.Succeed(t, err)
			unnamed := 0
			for _, c := range rep.Conversations {
				if c.Unnamed {
					unnamed += c.Events
				} else if c.Events != want[c.ID] {
					t.Errorf("salvaged %+v of %d events", c, want[c.ID])
				}
			}
			if lost := map[string]int{"lost": 700}[name]; unnamed != lost {
				t.Errorf("%d events came back without their conversation, want %d", unnamed, lost)
			}
		})
	}
}

// TestSalvageLostPages overwrites pages of a store. Salvaged events are unchanged,
// and lost ones are counted.
func TestSalvageLostPages(t *testing.T) {
	t.Parallel()
	sm := makeSample(t, true)
	all := map[event.ID]eventstream.Record{}
	for _, recs := range sm.want {
		for _, r := range recs {
			r.Seq = 0
			all[r.ID] = r
		}
	}
	rescued := 0
	for range 20 {
		pages := len(sm.files[""]) / 4096
		first, n := 1+rand.IntN(pages-1), 1+rand.IntN(4)
		dir := sm.write(t, "", func(b []byte) []byte {
			for i := first * 4096; i < min(first+n, pages)*4096; i++ {
				b[i] = byte(rand.Uint32())
			}
			return b
		})
		into := t.TempDir()
		rep, err := sqlite.Salvage(t.Context(), dir, into)
		if err != nil {
			t.Fatalf("pages %d to %d of %d lost: %v", first, first+n, pages, err)
		}
		s := open(t, into)
		for _, c := range rep.Conversations {
			if want, ok := sm.want[c.ID]; ok && c.Events+len(c.Lost) != len(want) {
				t.Errorf("pages %d to %d lost: %+v of %d events", first, first+n, c, len(want))
			}
			for r, err := range s.Read(t.Context(), c.ID, 1) {
				r.Seq = 0
				if err != nil || !reflect.DeepEqual(r, all[r.ID]) {
					t.Fatalf("pages %d to %d lost: got %v, %v", first, first+n, r, err)
				}
				rescued++
			}
		}
	}
	if rescued == 0 {
		t.Error("nothing was salvaged at all")
	}
}

// TestManyIDs appends ids again, also after a restart: each is found, and none
// is taken twice.
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
			if _, err := s.Append(t.Context(), id, event.NewUserMessage("new"), evs[i]); !fault.Is(err, fault.Conflict) {
				t.Fatalf("appending event %d again gives %v", i+1, err)
			}
			r, err := s.Get(t.Context(), id, evs[i].Meta().ID)
			if err != nil || int(r.Seq) != i+1 {
				t.Fatalf("event %d is found as %d (%v)", i+1, r.Seq, err)
			}
		}
		if round == 2 {
			must.Succeed(t, s.Close())
			s = open(t, dir)
		}
	}
	checkIntact(t, s, id, len(evs))
}

// TestExtraDamage damages the program's own document of a conversation: its events
// stay readable.
func TestExtraDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	id := event.NewConversationID()
	must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{Title: "kept", Extra: json.RawMessage(`{"n":1}`)}))
	fill(t, s, id, 3)
	must.Succeed(t, s.Close())
	for _, damage := range []string{`UPDATE documents SET extra = '{"n":2}'`, "DELETE FROM documents"} {
		must.Succeed(t, execSQL(dir, damage))
		s = open(t, dir)
		if _, err := s.Info(t.Context(), id); !fault.Is(err, fault.Corrupt) {
			t.Errorf("after %s info gives %v", damage, err)
		}
	}
	n := 0
	for _, err := range s.Read(t.Context(), id, 1) {
		must.Succeed(t, err)
		n++
	}
	if n != 3 {
		t.Errorf("read %d events", n)
	}
	into := t.TempDir()
	if _, err := sqlite.Salvage(t.Context(), dir, into); err != nil {
		t.Fatal(err)
	}
	info, err := open(t, into).Info(t.Context(), id)
	if err != nil || info.Meta.Title != "kept" || info.Meta.Extra != nil || info.Events != 3 {
		t.Errorf("salvaged %+v, %v", info, err)
	}
}

// TestLogStays checks that the store leaves SQLite's files to SQLite: the log
// holds SQLite's own bytes and nothing behind them.
func TestLogStays(t *testing.T) {
	t.Parallel()
	sm := makeSample(t, false)
	log := sm.files["-wal"]
	if len(log) == 0 || (len(log)-32)%(24+4096) != 0 || bytes.HasSuffix(log, make([]byte, 24+4096)) {
		t.Errorf("the log has %d bytes, which are not whole frames", len(log))
	}
}

// TestNothingIsLeft: a deleted conversation leaves nothing in any table.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	id := event.NewConversationID()
	must.Succeed(t, s.Create(t.Context(), id, eventstream.Meta{Extra: json.RawMessage(`{}`), Summary: json.RawMessage(`{}`)}))
	fill(t, s, id, 3)
	must.Succeed(t, s.Delete(t.Context(), id))
	must.Succeed(t, s.Close())
	s = open(t, dir) // the interrupted clean-up is finished now
	must.Succeed(t, s.Create(t.Context(), event.NewConversationID(), eventstream.Meta{}))
	for table, want := range map[string]int{"conversations": 1, "documents": 0, "segments": 0} {
		db, err := sql.Open("sqlite", filepath.Join(dir, "events.db")+"?mode=ro")
		must.Succeed(t, err)
		var n int
		if err := errors.Join(db.QueryRow("SELECT count(*) FROM "+table).Scan(&n), db.Close()); err != nil || n != want {
			t.Errorf("%d rows in %s, want %d: %v", n, table, want, err)
		}
	}
}
