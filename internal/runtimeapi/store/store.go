// Package store keeps the runtimes of a Runtime API in a SQLite database: a table of
// JSON documents that any SQLite client can read.
//
// # Usage
//
//	s, err := store.Open(ctx, filepath.Join(dir, "runtimes.db"))
//	defer s.Close()
//
// # Concurrency and failure
//
// A Store is safe for concurrent use by one process. What was saved survives the end of
// the process at any moment; a power loss may take the last seconds, and with them the
// sandboxes themselves. Errors: fault.Denied if the file may not be used, fault.Corrupt if
// what it holds cannot be read, fault.Full if there is no space.
package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/runtimeapi/registry"
)

// Store implements [registry.Store].
type Store struct {
	db   *sql.DB
	save *sql.Stmt
}

var _ registry.Store = (*Store)(nil)

const schema = `CREATE TABLE IF NOT EXISTS runtimes (
  id         TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  session_id TEXT NOT NULL,
  state      TEXT NOT NULL,
  document   TEXT NOT NULL, -- all of it, as JSON
  UNIQUE (owner, session_id)
) WITHOUT ROWID`

// Open opens the database, and makes it if there is none. Only its owner may read it: it
// holds session keys.
func Open(ctx context.Context, path string) (*Store, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "open the database of runtimes")
	}
	if err := f.Close(); err != nil {
		return nil, failed(err)
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	db, err := sql.Open("sqlite", u.String()+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, failed(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(failed(err), db.Close())
	}
	save, err := db.PrepareContext(ctx, `INSERT INTO runtimes (id, owner, session_id, state, document) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, document = excluded.document`)
	if err != nil {
		return nil, errors.Join(failed(err), db.Close())
	}
	return &Store{db, save}, nil
}

// Close closes the database.
func (s *Store) Close() error { return errors.Join(s.save.Close(), s.db.Close()) }

// Load implements [registry.Store].
func (s *Store) Load(ctx context.Context) ([]registry.Runtime, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT document FROM runtimes ORDER BY id")
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close()
	var all []registry.Runtime
	for rows.Next() {
		var raw []byte
		var r registry.Runtime
		if err := rows.Scan(&raw); err != nil {
			return nil, failed(err)
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, fault.Wrap(err, fault.Corrupt, "the database of runtimes is damaged")
		}
		all = append(all, r)
	}
	return all, failed(rows.Err())
}

// Save implements [registry.Store].
func (s *Store) Save(ctx context.Context, r registry.Runtime) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = s.save.ExecContext(ctx, r.ID, r.Owner, r.SessionID, string(r.State), string(raw))
	return failed(err)
}

// Delete implements [registry.Store].
func (s *Store) Delete(ctx context.Context, id string) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM runtimes WHERE id = ?", id)
	return failed(err)
}

// failed gives an error of SQLite its kind.
func failed(err error) error {
	kind := fault.Internal
	if serr, ok := errors.AsType[*sqlite.Error](err); ok {
		switch serr.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			kind = fault.Corrupt
		case sqlite3.SQLITE_FULL:
			kind = fault.Full
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
			kind = fault.Denied
		}
	}
	return fault.Wrap(err, kind, "use the database of runtimes")
}
