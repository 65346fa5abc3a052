package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/google/go-cmp/cmp"
)

// testdata/v1 was made with the code of 2341d61904, the last but a few that
// wrote version 1, by the program generate.go.txt beside it: six conversations
// with forks of forks, of deleted conversations and of one another's events.
// closed.db is a store that was closed. With killed.db-wal it is one whose
// process was killed after it had appended more to two conversations.

// stored is what generate.go.txt says of a conversation.
type stored struct {
	Info eventstream.Info
	Sum  string
}

// version1 is a store of version 1 on disk with what it holds.
type version1 struct {
	sample
	all []stored
}

func unzip(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "v1", name))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// oldStores returns the store that was closed and the one that was killed.
func oldStores(t testing.TB) map[string]version1 {
	t.Helper()
	raw, err := os.ReadFile("testdata/v1/want.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]stored
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, list := range all {
		for i := range list {
			var b bytes.Buffer
			if extra := list[i].Info.Meta.Extra; extra != nil {
				if err := json.Compact(&b, extra); err != nil { // want.json is indented
					t.Fatal(err)
				}
				list[i].Info.Meta.Extra = b.Bytes()
			}
		}
	}
	db, wal := unzip(t, "closed.db.gz"), unzip(t, "killed.db-wal.gz")
	return map[string]version1{
		"closed": {sample{files: map[string][]byte{"": db}}, all["closed"]},
		"killed": {sample{files: map[string][]byte{"": db, "-wal": wal}}, all["killed"]},
	}
}

// place writes the store to a new directory.
func (v version1) place(t *testing.T) string { return v.write(t, "none", nil) }

// check compares a store with what the old one held.
func (v version1) check(t *testing.T, s eventstream.Stream) {
	t.Helper()
	page, err := s.List(t.Context(), eventstream.ListQuery{Ascending: true})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]stored, len(page.Infos))
	for i, info := range page.Infos {
		h := sha256.New()
		for r, err := range s.Read(t.Context(), info.ID, 1) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(h, "%d %q %q %q %q %q %q\n", r.Seq, r.ID, r.ParentID, r.Kind, r.Source, r.Timestamp, r.JSON)
		}
		got[i] = stored{info, hex.EncodeToString(h.Sum(nil))}
	}
	if diff := cmp.Diff(v.all, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// openQuietly opens a store and returns what it told.
func openQuietly(t *testing.T, dir string) (*sqlite.Store, string, error) {
	t.Helper()
	var told bytes.Buffer
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{Log: slog.New(slog.NewTextHandler(&told, nil))})
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	return s, told.String(), err
}

// files returns the names and the content of what lies in a directory, but
// for the lock and SQLite's index of a log.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() == "events.lock" || e.Name() == "events.db-shm" {
			continue
		}
		var b []byte
		if !e.IsDir() {
			if b, err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		out[e.Name()] = string(b)
	}
	return out
}

// conversationID is how generate.go.txt names conversations.
func conversationID(n int) event.ConversationID {
	return event.ConversationID(fmt.Sprintf("c0000000-0000-4000-8000-%012d", n))
}
