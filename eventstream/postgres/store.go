// Package postgres stores events in a PostgreSQL database, which several processes on
// several machines may share.
//
// # Usage
//
//	s, err := postgres.Open(ctx, "postgres://deft:…@db.example.com/deft", postgres.Options{})
//	locks := s.Locks() // a session.Lock and a session.LockWatcher
//	…
//	defer s.Close()
//
// The tables are made in the first schema of the search_path, which must exist; see
// schema.sql. Conversations and events are plain tables that any client can read. The
// URL and the variables PGHOST, PGPASSWORD … follow libpq
// (https://www.postgresql.org/docs/current/libpq-connect.html) and pgxpool
// (pool_max_conns). Locks and followers keep connections of their own, so a pooler
// between must pool sessions, not transactions.
//
// # Concurrency
//
// A [Store] is safe for concurrent use by goroutines, processes and machines. Appends
// that wait are put into one transaction, so that they share its round trips and its
// fsync. Followers sleep until an append wakes them (LISTEN); all followers of a
// conversation in a process share one read of its new events.
//
// # Failure
//
// A commit is on the server's disk before it is acknowledged, unless the server is
// configured otherwise (fsync, synchronous_commit). When the connection is lost, Append
// tries again for some seconds; events whose commit was not acknowledged are found by
// their ids, so that they are stored once. If the server does not come back the error
// is of kind Unavailable, or Interrupted if the events may be stored. Followers wait
// for the server, at their beginning as long as Append; other methods return Unavailable. A full disk of the server is an
// error of kind Full. The server verifies the pages of the tables (data_checksums);
// damage that it reports, and missing events, are of kind Corrupt.
package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// connectTimeout bounds how long a connection takes to be made, unless the URL has a
// connect_timeout.
const connectTimeout = 10 * time.Second

// keepAlive finds a server that has vanished within some 10 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: 2 * time.Second, Count: 3}

// Options change how a store works. The zero value is right for most.
type Options struct {
	// Log is told when the connection of followers or locks is lost; nil for nobody.
	Log *slog.Logger
	// Address is where other processes reach this one, for [Locks.Holder]; "" for nowhere.
	Address string
}

// Store is an [eventstream.Stream] in a PostgreSQL database.
type Store struct {
	log     *slog.Logger
	address string // of this process, "" for none
	pool    *pgxpool.Pool
	config  *pgx.ConnConfig // of connections beside the pool
	schema  uint32          // the oid of the schema

	installation string      // the name of the store
	titles       atomic.Bool // there is an index of titles
	appender     appender
	topics       *topics
	locks        *Locks

	ctx    context.Context // of everything that runs
	cancel context.CancelFunc
	wg     sync.WaitGroup
	listen sync.Once // starts the listener
	closed sync.Once
}

var _ eventstream.Stream = (*Store)(nil)

// Open opens the store at a URL and makes its tables if there are none. Errors:
// Invalid for a URL that cannot be used, Unavailable when the server cannot be reached,
// Auth when it does not accept the user, Unsupported when the tables were made by
// another version.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	config, err := configure(address)
	if err != nil {
		return nil, err
	}
	s := &Store{log: o.Log, address: o.Address, config: config.ConnConfig.Copy(), topics: newTopics()}
	cancelQueries(config.ConnConfig)
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.locks = newLocks(s)
	if err := s.start(ctx, config); err != nil {
		s.cancel()
		return nil, fmt.Errorf("open event store in PostgreSQL: %w", storage(err))
	}
	s.wg.Go(func() {
		if err := s.cleanUp(s.ctx); err != nil && s.ctx.Err() == nil {
			s.log.Warn("delete the events of deleted conversations", "err", err)
		}
	})
	return s, nil
}

// configure parses a URL. The errors of pgx are left out: they may have parts of the
// password of a URL that is not well formed.
func configure(address string) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(address)
	// An @ elsewhere is that behind a password with a / or a ?.
	if u, bad := url.Parse(address); err != nil || bad == nil && u.Scheme != "" && strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return nil, fault.New(fault.Invalid, "the URL of the PostgreSQL database cannot be used").
			Hint("it has the form postgres://USER:PASSWORD@HOST:PORT/DATABASE; characters other than letters and digits in the password are written as %XX")
	}
	if c.ConnConfig.RuntimeParams["application_name"] == "" {
		c.ConnConfig.RuntimeParams["application_name"] = "deft"
	}
	c.ConnConfig.ConnectTimeout = cmp.Or(c.ConnConfig.ConnectTimeout, connectTimeout)
	c.ConnConfig.DialFunc = (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext
	return c, nil
}

// cancelQueries has a query that is given up ended at the server too, so that it does not
// wait there for a lock.
func cancelQueries(c *pgx.ConnConfig) {
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: time.Second}
	}
}

func (s *Store) start(ctx context.Context, config *pgxpool.Config) (err error) {
	if s.pool, err = pgxpool.NewWithConfig(s.ctx, config); err != nil {
		return err
	}
	err = s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		if s.schema, err = migrate(ctx, c.Conn()); err != nil {
			return err
		}
		if err := s.indexTitles(ctx, c.Conn()); err != nil {
			return err
		}
		return c.QueryRow(ctx, "SELECT name FROM installation").Scan(&s.installation)
	})
	if err != nil {
		s.pool.Close()
	}
	return err
}

// Installation returns the name that all programs which use this store have in common: 12
// letters and digits, made at random with the tables.
func (s *Store) Installation() string { return s.installation }

// Locks returns the locks of conversations in the same database. Closing them leaves
// the store open; closing the store closes them.
func (s *Store) Locks() *Locks { return s.locks }

// Close implements [eventstream.Stream]. Followers end with an error of kind Canceled.
// It may be called more than once.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		s.appender.close()
		err = s.locks.Close()
		s.cancel()
		close(s.topics.closed)
		s.wg.Wait()
		s.pool.Close()
	})
	return err
}
