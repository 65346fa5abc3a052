package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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

// execSQL changes a store behind its back.
func execSQL(dir, query string) error {
	s, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db"))
	if err != nil {
		return err
	}
	_, err = db.Exec(query)
	return errors.Join(err, db.Close())
}

// sample is a store on disk with its expected content.
type sample struct {
	files map[string][]byte
	want  map[event.ConversationID][]eventstream.Record
}

// makeSample writes three conversations, one of them a fork, and takes the
// files: closed (no log), or as a kill would leave them.
func makeSample(t *testing.T, closed bool) sample {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	a, b := newConversation(t, s), newConversation(t, s)
	for i := range 60 {
		for _, id := range []event.ConversationID{a, b} {
			evs := []event.Event{event.NewUserMessage(fmt.Sprint("small ", i)), &event.PauseEvent{Base: event.NewBase(event.SourceUser)}}
			if i%10 == 0 {
				evs = append(evs, event.NewUserMessage(strings.Repeat("large ", 1500)))
			}
			if _, err := s.Append(t.Context(), id, evs...); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := event.NewConversationID()
	must.Succeed(t, s.Fork(t.Context(), c, a, []eventstream.Segment{{First: 1, Last: 20}, {First: 30, Last: 40}}, eventstream.Meta{}))
	sm := sample{files: map[string][]byte{}, want: map[event.ConversationID][]eventstream.Record{}}
	for _, id := range []event.ConversationID{a, b, c} {
		for r, err := range s.Read(t.Context(), id, 1) {
			must.Succeed(t, err)
			sm.want[id] = append(sm.want[id], r)
		}
	}
	if closed {
		must.Succeed(t, s.Close())
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		b, err := os.ReadFile(filepath.Join(dir, "events.db"+end))
		if err == nil {
			sm.files[end] = b
		} else if !closed || end == "" {
			t.Fatal(err)
		}
	}
	return sm
}

// write puts the files into a new directory, with one of them changed.
func (sm sample) write(t *testing.T, end string, change func([]byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range sm.files {
		if name == end {
			b = change(bytes.Clone(b))
		}
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "events.db"+name), b, 0o600))
	}
	return dir
}

// check opens a damaged store and reads all of it. It fails when something
// is wrong or missing without an error.
func (sm sample) check(t *testing.T, dir, what string) (reported bool) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		isDamage(t, err, what)
		return true
	}
	defer s.Close()
	for id, want := range sm.want {
		got := map[eventstream.Seq]bool{}
		bad := false
		for from := eventstream.Seq(1); from <= eventstream.Seq(len(want)); {
			next := eventstream.Seq(len(want) + 1)
			for r, err := range s.Read(t.Context(), id, from) {
				if err != nil {
					isDamage(t, err, what)
					bad, reported = true, true
					next = max(from, lastOf(got)) + 1
					break
				}
				if got[r.Seq] || !reflect.DeepEqual(r, want[r.Seq-1]) {
					t.Fatalf("%s: event %d of %s is not as it was written", what, r.Seq, id)
				}
				got[r.Seq] = true
			}
			from = next
		}
		if len(got) != len(want) && !bad {
			t.Fatalf("%s: %d of %d events of %s are missing without an error", what, len(want)-len(got), len(want), id)
		}
	}
	return reported
}

func lastOf(m map[eventstream.Seq]bool) (n eventstream.Seq) {
	for s := range m {
		n = max(n, s)
	}
	return n
}

func isDamage(t *testing.T, err error, what string) {
	t.Helper()
	if k := fault.KindOf(err); k != fault.Corrupt && k != fault.NotFound && k != fault.Unsupported {
		t.Fatalf("%s: got error %v of kind %s", what, err, k)
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	flips := tries(150)
	for name, closed := range map[string]bool{"closed": true, "killed": false} {
		sm := makeSample(t, closed)
		for end, b := range sm.files {
			if end == "-shm" {
				continue // SQLite makes it anew
			}
			t.Run(name+"/flip"+end, func(t *testing.T) {
				t.Parallel()
				reported := 0
				for range flips {
					at, bit := rand.IntN(len(b)), byte(1)<<rand.IntN(8)
					dir := sm.write(t, end, func(b []byte) []byte { b[at] ^= bit; return b })
					if sm.check(t, dir, fmt.Sprintf("bit %#x of byte %d of %d flipped", bit, at, len(b))) {
						reported++
					}
				}
				t.Logf("%d of %d flips were reported, the others changed nothing that is used", reported, flips)
			})
			t.Run(name+"/truncate"+end, func(t *testing.T) {
				t.Parallel()
				for range flips / 3 {
					at := rand.IntN(len(b))
					dir := sm.write(t, end, func(b []byte) []byte { return b[:at] })
					sm.check(t, dir, fmt.Sprintf("cut at byte %d of %d", at, len(b)))
				}
			})
			t.Run(name+"/zero"+end, func(t *testing.T) {
				t.Parallel()
				for range flips / 3 {
					at := rand.IntN(len(b)/512) * 512
					dir := sm.write(t, end, func(b []byte) []byte { clear(b[at : at+512]); return b })
					sm.check(t, dir, fmt.Sprintf("sector at byte %d of %d zeroed", at, len(b)))
				}
			})
		}
	}
}

// TestReadOn damages one record: its neighbours stay readable, and a salvage
// copies them.
func TestReadOn(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"closed": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sm := makeSample(t, closed)
			end := "-wal"
			if closed {
				end = ""
			}
			dir := sm.write(t, end, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("small 30"), []byte("smell 30")) })
			into := t.TempDir()
			if closed {
				s := open(t, dir)
				for id := range sm.want {
					checkOneBad(t, s, id, sm.want[id])
				}
			} else {
				_, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
				if !fault.Is(err, fault.Corrupt) {
					t.Fatalf("got %v, want an error that names the log", err)
				}
			}
			rep, err := sqlite.Salvage(t.Context(), dir, into)
			must.Succeed(t, err)
			if len(rep.Conversations) != len(sm.want) {
				t.Fatalf("salvaged %d conversations of %d", len(rep.Conversations), len(sm.want))
			}
			s := open(t, into)
			for _, c := range rep.Conversations {
				if c.Unnamed || c.LostTail || c.Events+len(c.Lost) != len(sm.want[c.ID]) || len(c.Lost) > 1 {
					t.Errorf("salvaged %+v of %d events", c, len(sm.want[c.ID]))
				}
				checkIntact(t, s, c.ID, c.Events)
			}
			if _, err := sqlite.Salvage(t.Context(), dir, into); !fault.Is(err, fault.Conflict) {
				t.Errorf("salvaging over a store gives %v", err)
			}
		})
	}
}

// checkOneBad reads a conversation of which exactly the event that says
// "small 30" is damaged, if it has that event.
func checkOneBad(t *testing.T, s eventstream.Stream, id event.ConversationID, want []eventstream.Record) {
	t.Helper()
	bad := eventstream.Seq(0)
	for _, r := range want {
		if bytes.Contains(r.JSON, []byte("small 30")) {
			bad = r.Seq
		}
	}
	if bad == 0 {
		return
	}
	n := eventstream.Seq(0)
	for _, err := range s.Read(t.Context(), id, 1) {
		if n++; err != nil {
			break
		}
	}
	if n != bad {
		t.Fatalf("reading ended at event %d, damaged is %d", n, bad)
	}
	_, err := s.Get(t.Context(), id, want[bad-1].ID)
	if !fault.Is(err, fault.Corrupt) || !strings.Contains(err.Error(), fmt.Sprintf("event %d ", bad)) {
		t.Fatalf("got %v, want an error that names event %d", err, bad)
	}
	for r, err := range s.Read(t.Context(), id, bad+1) {
		if n++; err != nil || r.Seq != n {
			t.Fatalf("reading on: event %d, error %v, want %d", r.Seq, err, n)
		}
	}
	if int(n) != len(want) {
		t.Fatalf("read up to %d of %d", n, len(want))
	}
}

// TestUnusedLog opens a store whose log holds only zeros, as a crash may leave
// it, and one whose log holds something although it has no header.
func TestUnusedLog(t *testing.T) {
	t.Parallel()
	sm := makeSample(t, true)
	for name, tc := range map[string]struct {
		at      int // of a byte that is set, 0 for none
		damaged bool
	}{"zeros": {0, false}, "no header": {40_000, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := sm.write(t, "none", nil)
			log := make([]byte, 65536)
			if tc.at > 0 {
				log[tc.at] = 1
			}
			must.Succeed(t, os.WriteFile(filepath.Join(dir, "events.db-wal"), log, 0o600))
			if got := sm.check(t, dir, name); got != tc.damaged {
				t.Fatalf("reported damage: %v, want %v", got, tc.damaged)
			}
		})
	}
}
