// Package store keeps an App Server's records beside the events of conversations:
// sandboxes, the repositories of conversations, start tasks, credentials. Each row
// has an owner, and no query crosses from one owner to another. The tables are plain
// and the same in SQLite and PostgreSQL.
//
// # Usage
//
//	db, err := sql.Open(…)                // by the program, with its driver
//	s, err := store.Open(ctx, db, store.SQLite, ring)
//	err = s.SaveSandbox(ctx, sandbox)
//
// # Concurrency
//
// A Store is safe for concurrent use, by several processes as well. Another process's
// changes of a sandbox or its conversations are seen after a second at most by
// [Store.SandboxOfKey] and [Store.IsMember], and at once by all else.
//
// # Failure
//
// A method's writes survive the end of the process and a power loss once it has
// returned, as far as the database is set up for that ([SQLiteSource] is). Errors
// have the kinds of package fault: NotFound for an unknown id or one of another
// owner, Conflict for a taken one, Denied for a session key that no key of the ring
// opens, Unavailable for a database that does not answer.
package store

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/sqlitefile"
)

// Engine is a kind of database.
type Engine int

// The engines.
const (
	SQLite Engine = iota
	PostgreSQL
)

// Store keeps the records of an App Server in a database.
type Store struct {
	db     *sql.DB
	engine Engine
	ring   *keyring.Ring
	// Lookups of requests, by the hash of a key and by the member.
	keys    recent[string, Sandbox]
	members recent[member, struct{}]
	locks   chan struct{} // has a token for each connection that a lock of documents uses; nil for no bound
}

//go:embed schema.sql
var tables string

// oldest is the version of the tables of Deft 0.1.0. No release had a lower one.
const oldest = 9

// upgrades bring the tables from one version to the next, the first from oldest on. A change
// of schema.sql, which has the newest tables, adds one.
var upgrades = []string{
	"CREATE TABLE app_sandbox_secrets (sandbox TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (sandbox, name));",
	`ALTER TABLE app_credentials ADD COLUMN provider_session TEXT NOT NULL DEFAULT '';
CREATE TABLE app_users (id TEXT NOT NULL PRIMARY KEY, issuer TEXT NOT NULL, subject TEXT NOT NULL, email TEXT NOT NULL, name TEXT NOT NULL, created_at BIGINT NOT NULL, seen_at BIGINT NOT NULL);
CREATE UNIQUE INDEX app_users_subject ON app_users (issuer, subject);
CREATE TABLE app_sign_ins (state TEXT NOT NULL PRIMARY KEY, browser TEXT NOT NULL, target TEXT NOT NULL, expires_at BIGINT NOT NULL);
CREATE INDEX app_sign_ins_expires ON app_sign_ins (expires_at);
`,
}

// version is the version of schema.sql.
var version = oldest + len(upgrades)

// SQLiteSource makes the file of a SQLite database, which only its owner may read, and
// returns the data source for sql.Open: writes are on the disk when a statement
// returns.
func SQLiteSource(path string) (string, error) {
	source, err := sqlitefile.Source(path, sqlitefile.Full)
	if err != nil {
		return "", fault.Wrap(err, fault.Denied, "open the database of the App Server")
	}
	return source, nil
}

// Open makes the tables where there are none. ring seals session keys; values sealed with
// a previous key of it are sealed anew. The Store owns the database from then on. If its
// connections are bounded, two are the least: locks of documents use up to half of them.
func Open(ctx context.Context, db *sql.DB, d Engine, ring *keyring.Ring) (_ *Store, err error) {
	s := &Store{db: db, engine: d, ring: ring}
	if n := db.Stats().MaxOpenConnections; n > 0 {
		s.locks = make(chan struct{}, max(1, n/2))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if !ring.CanSeal() {
		return nil, fault.New(fault.Invalid, "there is no key that seals session keys")
	}
	if err := s.migrate(ctx); err != nil {
		return nil, err
	}
	return s, s.renew(ctx)
}

// migrate makes the tables. Servers that start at the same time wait for each other.
func (s *Store) migrate(ctx context.Context) error {
	return s.change(ctx, func(t tx) error {
		if s.engine == PostgreSQL {
			if _, err := t.exec("SELECT pg_advisory_xact_lock(7236021)"); err != nil {
				return err
			}
		}
		if _, err := t.exec("CREATE TABLE IF NOT EXISTS app_schema (version INTEGER NOT NULL)"); err != nil {
			return err
		}
		var found int
		err := t.row("SELECT version FROM app_schema").Scan(&found)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case found > version:
			return fault.New(fault.Unsupported, fmt.Sprintf("the App Server's tables are of version %d, which is newer than this program's %d", found, version)).
				Hint("start the newer version of deft again")
		case found < oldest:
			return fault.New(fault.Unsupported, fmt.Sprintf("the App Server's tables are of version %d, from before Deft 0.1.0", found)).
				Hint("start with an empty database: move events/app out of the data directory, or drop the tables app_* in PostgreSQL")
		case found == version:
			return nil
		default:
			for _, script := range upgrades[found-oldest:] {
				if err := t.script(script); err != nil {
					return err
				}
			}
			_, err = t.exec("UPDATE app_schema SET version = ?", version)
			return err
		}
		if err := t.script(tables); err != nil {
			return err
		}
		_, err = t.exec("INSERT INTO app_schema (version) VALUES (?)", version)
		return err
	})
}

// script runs statements.
func (t tx) script(statements string) error {
	for statement := range strings.SplitSeq(statements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := t.exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// Shared reports whether servers on other machines may use the same database.
func (s *Store) Shared() bool { return s.engine == PostgreSQL }

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// querier is the common part of a database and a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// tx runs statements. Placeholders are question marks in both engines.
type tx struct {
	ctx    context.Context
	q      querier
	engine Engine
}

func (s *Store) on(ctx context.Context) tx { return tx{ctx, s.db, s.engine} }

// change runs f in a transaction.
func (s *Store) change(ctx context.Context, f func(tx) error) error {
	t, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return failed(err)
	}
	if err := f(tx{ctx, t, s.engine}); err != nil {
		return errors.Join(failed(err), rollback(t))
	}
	return failed(t.Commit())
}

func rollback(t *sql.Tx) error {
	if err := t.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

func (t tx) exec(query string, args ...any) (sql.Result, error) {
	return t.q.ExecContext(t.ctx, t.rebind(query), args...)
}

func (t tx) row(query string, args ...any) *sql.Row {
	return t.q.QueryRowContext(t.ctx, t.rebind(query), args...)
}

func (t tx) rows(query string, args ...any) (*sql.Rows, error) {
	return t.q.QueryContext(t.ctx, t.rebind(query), args...)
}

// scanner is a row, or rows.
type scanner interface{ Scan(to ...any) error }

// value reads the one column of a row.
func value[T any](row scanner) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// one returns the row of a query; the error none if there is no row.
func one[T any](t tx, read func(scanner) (T, error), none error, query string, args ...any) (T, error) {
	v, err := read(t.row(query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = none
	}
	return v, failed(err)
}

// all returns the rows of a query.
func all[T any](t tx, read func(scanner) (T, error), query string, args ...any) (found []T, err error) {
	rows, err := t.rows(query, args...)
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		v, err := read(rows)
		if err != nil {
			return nil, failed(err)
		}
		found = append(found, v)
	}
	return found, failed(rows.Err())
}

// rebind numbers the placeholders for PostgreSQL. No statement here has a question
// mark anywhere else.
func (t tx) rebind(query string) string {
	if t.engine != PostgreSQL {
		return query
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}

// marks returns n placeholders.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// affected returns an error of kind NotFound if a statement has changed no row.
func affected(r sql.Result, err error, what, id string) error {
	if err != nil {
		return failed(err)
	}
	n, err := r.RowsAffected()
	if err == nil && n == 0 {
		return missing(what, id)
	}
	return failed(err)
}

func missing(what, id string) error {
	return fault.New(fault.NotFound, "there is no "+what+" "+id)
}

// failed gives an error of the database its kind.
func failed(err error) error {
	if _, has := errors.AsType[*fault.Error](err); err == nil || has {
		return err
	}
	if errors.Is(err, context.Canceled) { // a client that has gone
		return fault.Wrap(err, fault.Canceled, "use the database of the App Server")
	}
	if coded, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok { // PostgreSQL
		switch state := coded.SQLState(); {
		case state == "53100":
			return fault.Wrap(err, fault.Full, "use the database of the App Server")
		case strings.HasPrefix(state, "08"), strings.HasPrefix(state, "57P"):
			return fault.Wrap(err, fault.Unavailable, "use the database of the App Server")
		case strings.HasPrefix(state, "28"), state == "42501":
			return fault.Wrap(err, fault.Denied, "use the database of the App Server")
		case state == "22021": // character_not_in_repertoire
			return fault.New(fault.Invalid, "the database takes no text with a NUL character, or that is not UTF-8")
		}
	}
	if coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok { // SQLite, https://www.sqlite.org/rescode.html
		switch coded.Code() & 0xff {
		case 11, 26: // SQLITE_CORRUPT, SQLITE_NOTADB
			return fault.Wrap(err, fault.Corrupt, "use the database of the App Server")
		case 13: // SQLITE_FULL
			return fault.Wrap(err, fault.Full, "use the database of the App Server")
		case 3, 8, 14: // SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN
			return fault.Wrap(err, fault.Denied, "use the database of the App Server")
		case 5: // SQLITE_BUSY
			return fault.Wrap(err, fault.Unavailable, "use the database of the App Server")
		}
	}
	return fault.Wrap(err, fault.Internal, "use the database of the App Server")
}

// Times are stored in microseconds since 1970, and 0 for none.

func micro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// stored reads such a time.
type stored struct{ to *time.Time }

// Scan implements [sql.Scanner].
func (s stored) Scan(from any) error {
	var n sql.NullInt64
	err := n.Scan(from)
	if *s.to = (time.Time{}); n.Int64 != 0 {
		*s.to = time.UnixMicro(n.Int64).UTC()
	}
	return err
}

// A page id names the first row of a page by its time and its id. Any other text
// names the first page.

// paged returns the rows of a page of those found, one of which is the next page's first,
// and the next page's id ("" on the last).
func paged[T any](found []T, limit int, place func(T) (time.Time, string)) (page []T, next string) {
	if len(found) <= limit {
		return found, ""
	}
	t, id := place(found[limit])
	return found[:limit], strconv.FormatInt(micro(t), 10) + "_" + id
}

func parsePage(page string) (before int64, id string) {
	number, id, ok := strings.Cut(page, "_")
	before, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil {
		return math.MaxInt64, ""
	}
	return before, id
}
