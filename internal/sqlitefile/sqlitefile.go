// Package sqlitefile makes the file of a SQLite database that many connections and
// processes may open first at the same moment.
//
// A new file keeps a rollback journal. Its first connections would change it to a
// write-ahead log, and SQLite does not wait when two of them do so at once: one gets
// SQLITE_BUSY, whatever its time-out (https://www.sqlite.org/wal.html#activating_and_configuring_wal_mode).
// So the file gets its log before it has its name.
//
// # Usage
//
//	source, err := sqlitefile.Source("app.db", sqlitefile.Full)
//	db, err := sql.Open("sqlite", source)
//
// # Concurrency and failure
//
// Any number of goroutines and processes may call Source for one file. Errors come from
// the file system. A process that is killed meanwhile leaves a file *.new behind.
package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver of the sources
)

// Sync is when a commit is on the disk (https://www.sqlite.org/pragma.html#pragma_synchronous).
type Sync string

// How safe a commit is.
const (
	Full   Sync = "FULL"   // when the statement returns
	Normal Sync = "NORMAL" // at the next checkpoint: a power failure may lose the last commits, never the database
	off    Sync = "OFF"    // never: the file is synchronised by itself
)

// Source makes the database if there is none, readable for its owner alone, and returns its
// data source for the driver sqlite: with a write-ahead log, transactions that write from
// their beginning, and a wait of at most 30 s for another writer.
func Source(path string, sync Sync) (string, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return "", err
		}
	} else if err != nil {
		return "", err
	}
	return source(path, sync), nil
}

func source(path string, sync Sync) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return u.String() + "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(" + string(sync) + ")&_pragma=busy_timeout(30000)"
}

// create makes an empty database with a write-ahead log. Another process's is kept.
func create(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new") // of mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	err = begin(f.Name())
	// Closed before others can open it: that would end the process's locks on the file
	// (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_).
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// begin gives an empty file its write-ahead log.
func begin(path string) error {
	db, err := sql.Open("sqlite", source(path, off)) // nobody knows the file yet that a power failure could spoil
	if err != nil {
		return err
	}
	return errors.Join(db.PingContext(context.Background()), db.Close())
}
