package sqlite_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
)

// TestMigrateDamaged changes a byte of an old store somewhere. Either it was
// one that is not used, or the opening says that there is damage, changes
// nothing, and a salvage gets at the rest.
func TestMigrateDamaged(t *testing.T) {
	t.Parallel()
	tries := 40
	if testing.Short() {
		tries = 12
	}
	for name, old := range oldStores(t) {
		for end, b := range old.files {
			t.Run(name+end, func(t *testing.T) {
				t.Parallel()
				reported := 0
				for range tries {
					at, bit := rand.IntN(len(b)), byte(1)<<rand.IntN(8)
					dir := old.write(t, end, func(b []byte) []byte { b[at] ^= bit; return b })
					before := files(t, dir)
					s, _, err := openQuietly(t, dir)
					what := fmt.Sprintf("bit %#x of byte %d of %d flipped", bit, at, len(b))
					switch {
					case err == nil && end == "-wal":
						checkTorn(t, s, old)
						continue
					case err == nil:
						old.check(t, s)
						continue
					}
					reported++
					isDamage(t, err, what)
					unchanged(t, dir, before)
				}
				t.Logf("%d of %d flips were reported, the others changed nothing that is used", reported, tries)
			})
		}
	}
}

// checkTorn reads a store whose last commits may be lost with the log's end,
// as torn ones: all before them are there.
func checkTorn(t *testing.T, s *sqlite.Store, old version1) {
	t.Helper()
	for _, c := range old.all {
		info, err := s.Info(t.Context(), c.Info.ID)
		if err != nil || info.Events > c.Info.Events || info.Events < c.Info.Events-2 {
			t.Fatalf("%s has %d of %d events (%v)", c.Info.ID, info.Events, c.Info.Events, err)
		}
		checkIntact(t, s, info.ID, int(info.Events))
	}
}

// execOld changes an old store behind its back.
func execOld(t *testing.T, dir, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "events.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMigrateDeleted migrates a store with events of a deleted conversation
// that the clean-up had not come to: nothing of them is in the new one.
func TestMigrateDeleted(t *testing.T) {
	t.Parallel()
	old := oldStores(t)["closed"]
	dir := old.place(t)
	fifth := slices.IndexFunc(old.all, func(c stored) bool { return c.Info.ID == conversationID(5) })
	old.all = slices.Delete(old.all, fifth, fifth+1)
	execOld(t, dir, `DELETE FROM conversations WHERE log = 6; DELETE FROM heads WHERE log = 6; DELETE FROM segments WHERE log = 6;
INSERT INTO dead VALUES (5), (6)`)
	s, told, err := openQuietly(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	old.check(t, s)
	if !strings.Contains(told, "conversations=5") {
		t.Errorf("told was %q", told)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if b := files(t, dir)["events.db"]; strings.Contains(b, "text id 4001, ") || strings.Contains(b, "text id 3006, ") || !strings.Contains(b, "text id 2001, ") {
		t.Error("deleted events were copied")
	}
}

// TestMigrateLostRows takes rows out of an old store, or changes them.
func TestMigrateLostRows(t *testing.T) {
	t.Parallel()
	const all = 217 // rows of events
	for name, tc := range map[string]struct {
		change string
		lost   int // events, in the conversations that are salvaged
	}{
		"event":            {"DELETE FROM records WHERE log = 1 AND seq = 30", 2},
		"first event":      {"DELETE FROM records WHERE log = 1 AND seq = 1", 2},
		"last event":       {"DELETE FROM records WHERE log = 1 AND seq = 150", 1},
		"one too many":     {"INSERT INTO records SELECT log, 151, label, ts, id, rec FROM records WHERE log = 1 AND seq = 150", 0},
		"changed event":    {"UPDATE records SET rec = substr(rec, 1, length(rec)-1) || x'00' WHERE log = 1 AND seq = 150", 1},
		"swapped events":   {"UPDATE records SET rec = (SELECT rec FROM records WHERE log = 1 AND seq = 149) WHERE log = 1 AND seq = 150", 1},
		"changed id":       {"UPDATE records SET id = 'x' WHERE log = 1 AND seq = 150", 1},
		"no id":            {"UPDATE records SET id = 1.5 WHERE log = 1 AND seq = 150", 1},
		"changed time":     {"UPDATE records SET ts = 'x' WHERE log = 1 AND seq = 150", 1},
		"changed kind":     {"UPDATE records SET label = label % 2 + 1 WHERE log = 1 AND seq = 150", 1},
		"short event":      {"UPDATE records SET rec = x'00' WHERE log = 1 AND seq = 150", 1},
		"deleted's event":  {"DELETE FROM records WHERE log = 5 AND seq = 4", 2},
		"name":             {"UPDATE conversations SET id = 'x' WHERE log = 4", 0},
		"time":             {"UPDATE conversations SET created = 1 WHERE log = 4", 0},
		"meta data":        {"UPDATE conversations SET meta = '{}' WHERE log = 4", 0},
		"status":           {"UPDATE heads SET status = 'x' WHERE log = 4", 0},
		"conversation":     {"DELETE FROM conversations WHERE log = 4", 0},
		"both rows":        {"DELETE FROM conversations WHERE log = 6; DELETE FROM heads WHERE log = 6; DELETE FROM segments WHERE log = 6", 0},
		"heads":            {"DELETE FROM heads", 0},
		"segment":          {"DELETE FROM segments WHERE log = 2 AND ord = 1", 0},
		"changed segment":  {"UPDATE segments SET first = 2, last = 101 WHERE log = 2 AND ord = 0", 0},
		"kinds":            {"DELETE FROM labels", 0},
		"another's schema": {"DROP TABLE heads", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := oldStores(t)["closed"].place(t)
			execOld(t, dir, tc.change)
			before := files(t, dir)
			_, _, err := openQuietly(t, dir)
			if !fault.Is(err, fault.Corrupt) || fault.HintOf(err) == "" {
				t.Fatalf("got %v of kind %s, hint %q", err, fault.KindOf(err), fault.HintOf(err))
			}
			t.Log(err)
			unchanged(t, dir, before)
			into := t.TempDir()
			rep, err := sqlite.Salvage(t.Context(), dir, into)
			if err != nil {
				t.Fatal(err)
			}
			s := open(t, into)
			lost, events := 0, 0
			for _, c := range rep.Conversations {
				checkIntact(t, s, c.ID, c.Events)
				events += c.Events
				lost += len(c.Lost)
			}
			if name != "kinds" && (lost != tc.lost || events < all) {
				t.Errorf("salvaged %d events, lost %d, want %d", events, lost, tc.lost)
			}
			unchanged(t, dir, before)
		})
	}
}
