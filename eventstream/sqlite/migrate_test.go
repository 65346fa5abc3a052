package sqlite_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"golang.org/x/sys/unix"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	for name, old := range oldStores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := old.place(t)
			for name, content := range map[string]string{"events-v1.db": "not ours", "other.db": "other", "blob": "blob"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, told, err := openQuietly(t, dir)
			if err != nil {
				t.Fatal(err)
			}
			old.check(t, s)
			if !strings.Contains(told, "events-v1-2.db") || !strings.Contains(told, "conversations=6") {
				t.Errorf("told was %q", told)
			}
			useMigrated(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			got := files(t, dir)
			if got["events-v1.db"] != "not ours" || got["other.db"] != "other" || got["blob"] != "blob" || len(got) != 5 {
				t.Errorf("other files were touched: %d files are there", len(got))
			}
			if name == "closed" && got["events-v1-2.db"] != string(old.files[""]) {
				t.Error("the old database was changed")
			}
			// The kept database is a store of version 1 again.
			again := t.TempDir()
			if err := os.Rename(filepath.Join(dir, "events-v1-2.db"), filepath.Join(again, "events.db")); err != nil {
				t.Fatal(err)
			}
			s, told, err = openQuietly(t, again)
			if err != nil || told == "" {
				t.Fatalf("the kept database: told %q, error %v", told, err)
			}
			old.check(t, s)
			if _, told, err := openQuietly(t, dir); err != nil || told != "" {
				t.Errorf("the second opening: told %q, error %v", told, err)
			}
		})
	}
}

// useMigrated does to a migrated store what depends on more than its events:
// ids are known, forks share, deleted sources go.
func useMigrated(t *testing.T, s eventstream.Stream) {
	t.Helper()
	for n := range 7 {
		id := conversationID(n + 1)
		info, err := s.Info(t.Context(), id)
		if fault.Is(err, fault.NotFound) {
			continue // deleted in the old store
		}
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range s.Read(t.Context(), id, 1) {
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(t.Context(), id, r.ID); err != nil || got.Seq != r.Seq {
				t.Fatalf("event %d of %s by its id: %d, %v", r.Seq, id, got.Seq, err)
			}
			if _, err := s.AppendRecords(t.Context(), id, r); !fault.Is(err, fault.Conflict) {
				t.Fatalf("appending event %d of %s again gives %v", r.Seq, id, err)
			}
		}
		fill(t, s, id, 100)
		checkIntact(t, s, id, int(info.Events)+100)
	}
	third, err := s.Info(t.Context(), conversationID(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2} {
		if err := s.Delete(t.Context(), conversationID(n)); err != nil {
			t.Fatal(err)
		}
	}
	fork := event.NewConversationID()
	if err := s.Fork(t.Context(), fork, third.ID, []eventstream.Segment{{First: 1, Last: third.Events}}, eventstream.Meta{}); err != nil {
		t.Fatal(err)
	}
	checkIntact(t, s, fork, int(third.Events))
	checkIntact(t, s, third.ID, int(third.Events))
}

// TestMigrateSteps stops a migration after each of its steps, as a kill
// would: the next opening gives the whole store, and the old one is kept.
func TestMigrateSteps(t *testing.T) {
	t.Parallel()
	for name, old := range oldStores(t) {
		for _, links := range []bool{true, false} {
			for n := range len(sqlite.MigrationSteps("", links)) + 1 {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					dir := old.place(t)
					for i, step := range sqlite.MigrationSteps(dir, links)[:n] {
						if err := step(t.Context()); err != nil {
							t.Fatalf("step %d: %v", i+1, err)
						}
					}
					checkMigrated(t, old, dir, links)
				})
			}
		}
		t.Run(name+"/unfinished", func(t *testing.T) {
			t.Parallel()
			dir := old.place(t)
			tmp := filepath.Join(dir, "events.migrating")
			if err := os.Mkdir(tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, b := range map[string]string{"events.db": "half", "events.db-wal": "a log", "old": "x"} {
				if err := os.WriteFile(filepath.Join(tmp, name), []byte(b), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			checkMigrated(t, old, dir, true)
		})
	}
}

// checkMigrated opens a store and looks at what lies in its directory. Without
// links the old database may have been kept twice.
func checkMigrated(t *testing.T, old version1, dir string, links bool) {
	t.Helper()
	s, _, err := openQuietly(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	old.check(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for name := range files(t, dir) {
		switch {
		case strings.HasPrefix(name, "events-v1"):
			kept++
		case name != "events.db":
			t.Errorf("%s is left", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "events-v1.db")); err != nil || kept > 2 || links && kept > 1 {
		t.Errorf("the old database was kept %d times (%v)", kept, err)
	}
}

// TestMigrateKilled kills processes while they migrate.
func TestMigrateKilled(t *testing.T) {
	t.Parallel()
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	old := oldStores(t)["killed"]
	amid := 0
	for range rounds {
		dir := old.place(t)
		cmd := command(t, "migrate", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil { // it begins
			t.Fatal(err)
		}
		// The point of the kill is what this test varies.
		<-time.NewTimer(time.Duration(rand.IntN(60_000)) * time.Microsecond).C
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		cmd.Wait()
		if _, err := os.Stat(filepath.Join(dir, "events.migrating")); err == nil {
			amid++
		}
		checkMigrated(t, old, dir, true)
	}
	t.Logf("%d of %d kills came amid a migration", amid, rounds)
}

// TestMigrateTogether opens one old store from several sides at once: one of
// them migrates it, the others wait.
func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	for name, old := range oldStores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := old.place(t)
			var wg sync.WaitGroup
			told := make([]string, 4)
			for i := range told {
				wg.Go(func() {
					s, text, err := openQuietly(t, dir)
					if told[i] = text; err != nil {
						t.Error(err)
						return
					}
					old.check(t, s)
				})
			}
			wg.Wait()
			if n := strings.Count(strings.Join(told, ""), "kept="); n != 1 {
				t.Errorf("it was migrated %d times", n)
			}
		})
	}
}

// TestMigrateFailsTogether opens a damaged store from two sides at once: both
// say what is damaged, also the one that waited.
func TestMigrateFailsTogether(t *testing.T) {
	t.Parallel()
	old := oldStores(t)["closed"]
	for range 10 {
		dir := old.place(t)
		execOld(t, dir, "DELETE FROM records WHERE log = 3 AND seq = 38")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, _, err := openQuietly(t, dir); !fault.Is(err, fault.Corrupt) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
	}
}

// TestMigrateInUse opens a store that an older Deft has open.
func TestMigrateInUse(t *testing.T) {
	t.Parallel()
	old := oldStores(t)["killed"]
	dir := old.place(t)
	lock, err := os.OpenFile(filepath.Join(dir, "events.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	if _, _, err = openQuietly(t, dir); !fault.Is(err, fault.Unavailable) || fault.HintOf(err) == "" {
		t.Fatalf("got %v", err)
	}
	unchanged(t, dir, before)
	// Closing it would not do: a process that another test starts may have it.
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	checkMigrated(t, old, dir, true)
}

func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	after := files(t, dir)
	for name, b := range before {
		if after[name] != b {
			t.Errorf("%s has changed", name)
		}
		delete(after, name)
	}
	for name := range after {
		t.Errorf("%s is new", name)
	}
}

// TestMigrateFull has no space for a second store.
func TestMigrateFull(t *testing.T) {
	old := oldStores(t)["closed"]
	dir := smallDisk(t, "300k")
	if err := os.WriteFile(filepath.Join(dir, "events.db"), old.files[""], 0o600); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	if _, _, err := openQuietly(t, dir); !fault.Is(err, fault.Full) || !strings.Contains(fault.HintOf(err), "second copy") {
		t.Fatalf("got %v of kind %s, hint %q", err, fault.KindOf(err), fault.HintOf(err))
	}
	unchanged(t, dir, before)
	growDisk(t, dir, "8m")
	checkMigrated(t, old, dir, true)
}
