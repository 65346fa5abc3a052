// Package store keeps the runtimes and builds of a Runtime API in a SQLite database: tables
// of JSON documents that any SQLite client can read. Session keys in them are sealed.
//
// # Usage
//
//	s, err := store.Open(ctx, filepath.Join(dir, "runtimes.db"), ring)
//	defer s.Close()
//
// # Concurrency and failure
//
// A Store is safe for concurrent use by one process. Saved runtimes survive the end of
// the process at any moment; a power loss may take the last seconds, and with them the
// sandboxes themselves. Errors: fault.Denied if the file may not be used, or was written
// with a key that is missing, fault.Corrupt if it cannot be read, fault.Full if there is
// no space.
package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/sqlitefile"
	"github.com/deft-dev/deft/server/runtimeapi/builds"
	"github.com/deft-dev/deft/server/runtimeapi/registry"
)

// Store implements [registry.Store].
type Store struct {
	db   *sql.DB
	save *sql.Stmt
	ring *keyring.Ring
}

var (
	_ registry.Store = (*Store)(nil)
	_ builds.Store   = (*Store)(nil)
)

const schema = `CREATE TABLE IF NOT EXISTS runtimes (
  id         TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  session_id TEXT NOT NULL,
  state      TEXT NOT NULL,
  document   TEXT NOT NULL, -- all of it, as JSON
  UNIQUE (owner, session_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS builds (
  id       TEXT PRIMARY KEY,
  owner    TEXT NOT NULL,
  status   TEXT NOT NULL,
  document TEXT NOT NULL
)`

// Open opens the database, and makes it if there is none. Only its owner may read it. ring
// seals session keys.
func Open(ctx context.Context, path string, ring *keyring.Ring) (*Store, error) {
	if !ring.CanSeal() {
		return nil, fault.New(fault.Invalid, "there is no key that seals session keys")
	}
	source, err := sqlitefile.Source(path, sqlitefile.Normal)
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "open the database of runtimes")
	}
	db, err := sql.Open("sqlite", source)
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
	return &Store{db, save, ring}, nil
}

// Close closes the database.
func (s *Store) Close() error { return errors.Join(s.save.Close(), s.db.Close()) }

// Load implements [registry.Store].
func (s *Store) Load(ctx context.Context) ([]registry.Runtime, error) {
	all, err := documents[registry.Runtime](ctx, s.db, "runtimes")
	for i := range all {
		r := &all[i]
		plain, err := s.ring.Open(r.SessionKey)
		if err != nil {
			return nil, fault.New(fault.Denied, "the session keys in the database of runtimes cannot be read").
				Hint("start the server with the secret key that it had, or delete the directory runtime-api in Deft's data directory, with all runtimes").Because(err)
		}
		r.SessionKey = string(plain)
	}
	return all, err
}

// documents returns all documents of a table.
func documents[T any](ctx context.Context, db *sql.DB, table string) (all []T, err error) {
	rows, err := db.QueryContext(ctx, "SELECT document FROM "+table+" ORDER BY id")
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var raw []byte
		if err := rows.Scan(&raw); err != nil {
			return nil, failed(err)
		}
		var one T
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, fault.Wrap(err, fault.Corrupt, "the database of runtimes is damaged: one of "+table+" cannot be read")
		}
		all = append(all, one)
	}
	return all, failed(rows.Err())
}

// Save implements [registry.Store].
func (s *Store) Save(ctx context.Context, r registry.Runtime) error {
	sealed, err := s.ring.Seal([]byte(r.SessionKey))
	if err != nil {
		return err
	}
	r.SessionKey = sealed
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

// LoadBuilds implements [builds.Store].
func (s *Store) LoadBuilds(ctx context.Context) ([]builds.Build, error) {
	all, err := documents[builds.Build](ctx, s.db, "builds")
	if slices.ContainsFunc(all, func(b builds.Build) bool { return len(b.Tags) == 0 }) {
		return nil, fault.New(fault.Corrupt, "the database of runtimes is damaged: a build has no tag")
	}
	return all, err
}

// SaveBuild implements [builds.Store].
func (s *Store) SaveBuild(ctx context.Context, b builds.Build) error {
	raw, err := json.Marshal(b)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, `INSERT INTO builds (id, owner, status, document) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, document = excluded.document`, b.ID, b.Owner, string(b.Status), string(raw))
	return failed(err)
}

// DeleteBuild implements [builds.Store].
func (s *Store) DeleteBuild(ctx context.Context, id string) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM builds WHERE id = ?", id)
	return failed(err)
}
