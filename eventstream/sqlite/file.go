package sqlite

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/sqlitelog"
)

//go:embed schema.sql
var schema string

// oldest is the schema version of Deft 0.1.0. No release had a lower one.
const oldest = 7

// upgrades bring a database from one version to the next, the first from oldest on. A change
// of schema.sql, which has the newest tables, adds one.
var upgrades []string

// version is the schema's version, kept in PRAGMA user_version.
var version = oldest + len(upgrades)

// lockDir makes the directory and opens its lock file. Each process holds a
// shared lock on it while it has the store open.
func lockDir(dir string) (*os.File, error) {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			return f, nil
		}
	}
	return nil, fsError(err, "cannot make the data directory")
}

// prepareFile opens the writing connection. The first process that opens a store
// makes it and checks it for the traces of a crash or of damage; the others find
// that done.
func prepareFile(lock *os.File, path string) (*conn, error) {
	first, err := lockExclusive(lock)
	if err != nil {
		return nil, fsError(err, "cannot lock the data directory")
	}
	if first {
		if err := firstUse(path); err != nil {
			return nil, err
		}
	}
	c, err := dial(path, "busy_timeout = 30000", "synchronous = FULL", "cache_size = -8192", "wal_autocheckpoint = 4000", "journal_size_limit = 33554432")
	if err != nil {
		return nil, err
	}
	err = upgrade(c, first, upgrades)
	if err == nil {
		err = checkContent(c, first)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	if err := lockShared(lock); err != nil {
		return nil, errors.Join(fsError(err, "cannot lock the data directory"), c.close())
	}
	return c, nil
}

// firstUse makes the database, or refuses a damaged one: also a file that SQLite
// would take for a new, empty one
// (https://www.sqlite.org/fileformat2.html#the_database_header).
func firstUse(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		if st, err := os.Stat(path + "-wal"); err == nil && st.Size() > 0 {
			return fault.New(fault.Corrupt, "events.db is missing but events.db-wal is still there").Hint("put events.db back from a backup")
		}
		return createFile(path)
	}
	if err != nil {
		return fsError(err, "cannot read the event database")
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	b := make([]byte, 100)
	if _, err := f.ReadAt(b, 0); err != nil || string(b[:len(magic)]) != magic {
		return fault.New(fault.Corrupt, "events.db is not an event database, or its first page is damaged").Hint(salvageHint)
	}
	damage, err := sqlitelog.Check(path)
	if err != nil {
		return fsError(err, "cannot read the event database's log")
	}
	if damage != "" {
		return fault.New(fault.Corrupt, "the newest events in events.db-wal are damaged: "+damage).Hint(salvageHint)
	}
	return nil
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
	if err := os.WriteFile(tmp, nil, 0o600); err != nil {
		return fsError(err, "cannot make the event database")
	}
	c, err := dial(tmp, "synchronous = OFF", "journal_mode = WAL") // the whole is synchronised below
	if err != nil {
		return err
	}
	err = c.script("BEGIN;" + schema + fmt.Sprintf(";PRAGMA user_version = %d; COMMIT", version))
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	if err := syncFile(tmp); err != nil {
		return fsError(err, "cannot write the event database")
	}
	if err := os.Rename(tmp, path); err != nil {
		return fsError(err, "cannot make the event database")
	}
	if err := syncFile(filepath.Dir(path)); err != nil {
		return fsError(err, "cannot write the data directory")
	}
	return nil
}

// syncFile puts a file, or the names in a directory, on disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// upgrade applies the steps that a database of an earlier release lacks. It is all or
// nothing: a program that is killed meanwhile leaves the old one.
func upgrade(c *conn, first bool, steps []string) error {
	v, _, err := c.number("PRAGMA user_version")
	if err != nil || v < oldest || v >= int64(oldest+len(steps)) {
		return err // checkContent refuses what this version does not know
	}
	if !first {
		return fault.New(fault.Conflict, "an older Deft has the event database open, which this one wants to change").Hint("stop the older one first")
	}
	return c.script("BEGIN IMMEDIATE;" + strings.Join(steps[v-oldest:], ";") + fmt.Sprintf(";PRAGMA user_version = %d; COMMIT", oldest+len(steps)))
}

// checkContent refuses a database of another version. The first process also compares
// how many conversations two indexes have, which shows lost rows, and counts them
// again if the stored count differs.
func checkContent(c *conn, first bool) error {
	v, _, err := c.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	switch {
	case v == int64(version):
	case v == 0:
		return fault.New(fault.Corrupt, "events.db is not an event database").Hint("move it away, or choose another data directory")
	default:
		hint := "use the newer Deft that wrote it"
		if v < oldest {
			hint = "it was made before Deft 0.1.0: move it away to start with an empty database"
		}
		return fault.New(fault.Unsupported, fmt.Sprintf("the event database has schema version %d, this Deft uses version %d", v, version)).Hint(hint)
	}
	if !first {
		return nil
	}
	lost, _, err := c.number(`SELECT (SELECT count(*) FROM conversations INDEXED BY conversations_id)
		<> (SELECT count(*) FROM conversations INDEXED BY conversations_created)`)
	if err == nil && lost != 0 {
		return fault.New(fault.Corrupt, "the event database has lost conversations").Hint(salvageHint)
	}
	if err != nil {
		return err
	}
	wrong, _, err := c.number(`SELECT (SELECT count(*) FROM conversations INDEXED BY conversations_id)
		<> (SELECT coalesce(sum(conversations), 0) FROM conversation_counts)`)
	if err == nil && wrong != 0 {
		err = c.script("BEGIN IMMEDIATE; DELETE FROM conversation_counts;" + recount + "; COMMIT")
	}
	return err
}

const recount = "INSERT INTO conversation_counts SELECT owner, status, parent_id <> '', count(*) FROM conversations GROUP BY 1, 2, 3"
