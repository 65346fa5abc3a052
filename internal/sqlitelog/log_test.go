package sqlitelog

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/deft-dev/deft/internal/must"
)

// crashed returns the files of a database whose log holds some commits, as a
// crash leaves them.
func crashed(t *testing.T) map[string][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)")
	must.Succeed(t, err)
	defer db.Close()
	for _, query := range []string{"CREATE TABLE t (v)", "INSERT INTO t VALUES ('first')", "INSERT INTO t VALUES ('second')", "INSERT INTO t VALUES ('third')"} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string][]byte{}
	for _, end := range []string{"", "-wal", "-shm"} {
		if files[end], err = os.ReadFile(path + end); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestCheck(t *testing.T) {
	t.Parallel()
	files := crashed(t)
	frame := func(n int) int { return walHeaderLen + n*(walFrameLen+4096) }
	frames := (len(files["-wal"]) - walHeaderLen) / (walFrameLen + 4096)
	flip := func(at int) func([]byte) []byte { return func(b []byte) []byte { b[at] ^= 4; return b } }
	for name, tc := range map[string]struct {
		change  func([]byte) []byte // of the log
		noIndex bool                // as after a power cut
		damaged bool
	}{
		"intact":               {func(b []byte) []byte { return b }, false, false},
		"intact, no index":     {func(b []byte) []byte { return b }, true, false},
		"header":               {flip(9), false, true},
		"first frame":          {flip(frame(0) + 100), false, true},
		"first, no index":      {flip(frame(0) + 100), true, true},
		"last frame":           {flip(frame(frames-1) + 100), false, true},
		"torn write, no index": {flip(frame(frames-1) + 100), true, false},
		"cut":                  {func(b []byte) []byte { return b[:frame(frames-1)+50] }, false, true},
		"frames of before":     {func(b []byte) []byte { return append(b, make([]byte, walFrameLen+4096)...) }, false, false},
		"zeros":                {func(b []byte) []byte { return make([]byte, len(b)) }, true, false},
		"empty":                {func([]byte) []byte { return nil }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.db")
			for end, b := range files {
				if end == "-wal" {
					b = tc.change(bytes.Clone(b))
				}
				if end == "-shm" && tc.noIndex {
					continue
				}
				must.Succeed(t, os.WriteFile(path+end, b, 0o600))
			}
			damage, err := Check(path)
			if err != nil || damage != "" != tc.damaged {
				t.Fatalf("found %q, %v", damage, err)
			}
		})
	}
	if damage, err := Check(filepath.Join(t.TempDir(), "none.db")); damage != "" || err != nil {
		t.Errorf("no log: %q, %v", damage, err)
	}
}

// TestAcceptAll damages a frame of a copy and lets SQLite read it all the same.
func TestAcceptAll(t *testing.T) {
	t.Parallel()
	files := crashed(t)
	path := filepath.Join(t.TempDir(), "a.db")
	for end, b := range files {
		if end == "-wal" {
			b = bytes.Replace(b, []byte("first"), []byte("worst"), 1)
		}
		if end == "-shm" {
			continue
		}
		must.Succeed(t, os.WriteFile(path+end, b, 0o600))
	}
	must.Succeed(t, AcceptAll(path))
	db, err := sql.Open("sqlite", path)
	must.Succeed(t, err)
	defer db.Close()
	var n int
	if err := db.QueryRow("SELECT count(*) FROM t").Scan(&n); err != nil || n != 3 {
		t.Fatalf("read %d rows, %v", n, err)
	}
}
