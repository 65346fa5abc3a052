package sqlite

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/fault"
)

//go:embed schema.sql
var schema string

// version is the schema's version, kept in PRAGMA user_version.
const version = 3

// pageSize is the size of the database's pages: SQLite's default, which is
// also the unit of most disks.
const pageSize = 4096

// lockDir makes the directory and opens its lock file. Each process holds a
// shared lock on it while it has the store open.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fsError(err, "cannot make the data directory")
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fsError(err, "cannot use the data directory")
	}
	return f, nil
}

// prepareFile opens the writing connection. The first process that opens a
// store makes it, checks what a crash or a damage left, and brings its schema
// up to date; those that come later find that done.
func prepareFile(ctx context.Context, lock *os.File, path string, log *slog.Logger) (*conn, error) {
	first, err := claim(lock, path)
	if err != nil {
		return nil, err
	}
	if first {
		if err := firstUse(ctx, path, log); err != nil {
			return nil, err
		}
	}
	c, err := dial(path, "busy_timeout = 10000", "synchronous = FULL", "cache_size = -8192", "wal_autocheckpoint = 4000", "journal_size_limit = 33554432")
	if err != nil {
		return nil, err
	}
	if err := checkVersion(c, first); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := lockShared(lock); err != nil {
		return nil, errors.Join(fsError(err, "cannot lock the data directory"), c.close())
	}
	return c, nil
}

// claim takes the lock alone, or shares it with those that have the store
// open already.
func claim(lock *os.File, path string) (first bool, err error) {
	for again := false; ; again = true {
		if first, err = lockExclusive(lock); err != nil {
			return false, fsError(err, "cannot lock the data directory")
		}
		if first {
			return true, nil
		}
		if v, _ := checkHeader(path); v != 1 {
			return false, nil
		}
		// The one that was first has failed to bring the store up to date,
		// which this one tries too; or it is an older Deft.
		if again {
			return false, errOldInUse
		}
	}
}

func firstUse(ctx context.Context, path string, log *slog.Logger) error {
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if st, err := os.Stat(path + "-wal"); err == nil && st.Size() > 0 {
			return fault.New(fault.Corrupt, "events.db is gone but events.db-wal is still there").Hint("put events.db back from a backup")
		}
		return createFile(path)
	}
	if err != nil {
		return fsError(err, "cannot read the event database")
	}
	v, err := checkHeader(path)
	if err != nil {
		return err
	}
	if err := checkWAL(path); err != nil {
		return err
	}
	if v == 1 {
		return newMigration(path, log).run(ctx)
	}
	return clearMigration(path)
}

// checkHeader refuses what SQLite would take for a new, empty database. It
// returns the schema's version, which no log changes
// (https://www.sqlite.org/fileformat2.html#the_database_header).
func checkHeader(path string) (uint32, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fsError(err, "cannot read the event database")
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	b := make([]byte, 100)
	if _, err := f.ReadAt(b, 0); err != nil || string(b[:len(magic)]) != magic {
		return 0, fault.New(fault.Corrupt, "events.db is not an event database, or its first page is damaged").Hint(salvageHint)
	}
	return binary.BigEndian.Uint32(b[60:]), nil
}

// createFile makes a new database under another name first, so that a file
// under the right name is always whole.
func createFile(path string) error {
	tmp := path + ".new"
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(tmp + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fsError(err, "cannot make the event database")
		}
	}
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fsError(err, "cannot make the event database")
	}
	if err := f.Close(); err != nil {
		return fsError(err, "cannot make the event database")
	}
	c, err := dial(tmp, "journal_mode = WAL", "synchronous = FULL")
	if err != nil {
		return err
	}
	err = c.script("BEGIN;" + schema + fmt.Sprintf(";PRAGMA user_version = %d; COMMIT", version))
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return fsError(err, "cannot make the event database")
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fsError(err, "cannot read the data directory")
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fsError(err, "cannot write the data directory")
	}
	return nil
}

// checkVersion refuses a database of another version. The first process also
// compares how many conversations there are with how many heads: it is what
// shows that rows are gone.
func checkVersion(c *conn, first bool) error {
	v, _, err := c.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	if v > version {
		return fault.New(fault.Unsupported, fmt.Sprintf("the event database has version %d, this Deft knows versions up to %d", v, version)).
			Hint("use the newer Deft that wrote it")
	}
	if v < version {
		return fault.New(fault.Corrupt, "events.db is not an event database").Hint("move it away, or choose another data directory")
	}
	if !first {
		return nil
	}
	n, _, err := c.number("SELECT (SELECT count(*) FROM conversations) - (SELECT count(*) FROM heads)")
	if err != nil {
		return err
	}
	if n != 0 {
		return fault.New(fault.Corrupt, "the event database has lost conversations").Hint(salvageHint)
	}
	return nil
}
