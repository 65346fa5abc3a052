// Package sqlite keeps event streams in one SQLite database: the store of
// one machine.
//
// # Usage
//
//	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
//	defer s.Close()
//
// The directory holds events.db (with -wal and -shm files while it is open) and
// events.lock. Directory and files can be read by their owner only. [Salvage]
// copies the intact part of a damaged store to a new one.
//
// Conversations and events are plain tables that any SQLite client can read;
// see schema.sql. A database of another schema version is refused.
//
// # Concurrency
//
// A [Store] is safe for concurrent use, and several processes may open one
// directory at a time. One goroutine writes at a time: it puts all requests that wait
// into one transaction, so that many writers share one fsync. Readers have
// connections of their own and wait for nobody. Followers sleep until an append
// wakes them, also one of another process (on Linux).
//
// # Failure
//
// A commit is on disk (WAL, synchronous=FULL) before it is acknowledged. Rows have
// checksums, events are numbered without gaps, and their number is stored with the
// conversation. Rows that were lost or changed below SQLite are an error of kind
// Corrupt, at [Open] or where they are read; intact rows stay readable. Indexes have
// no checksums. Get and Search compare the id or kind under which they find an event
// with the event, whose checksum is verified. A row that an index has lost is not
// noticed: Get, Search and Count do not find the event, its id may be taken twice, and
// a conversation may be listed in the wrong place. Read and Follow check every event.
// A full disk is an error of kind Full; the store stays readable and writes again when
// there is space.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

const dbName, lockName = "events.db", "events.lock"

// Options change how a store works. The zero value is right for most.
type Options struct {
	// Readers is how many reads run at the same time. Defaults to 4. Each
	// takes a connection with a cache of 512 KB, opened when first needed.
	Readers int
}

// Store is an [eventstream.Stream] in a SQLite database.
type Store struct {
	queue  *queue
	topics *topics
	pool   *pool
	writer *conn
	lock   *os.File

	watching sync.Mutex
	watch    *watch // made for the first follower

	closed sync.Once
	err    error // of Close
	wg     sync.WaitGroup
}

var _ eventstream.Stream = (*Store)(nil)

// Open opens the store in dir and makes it if there is none. Errors: Denied
// when the directory or its files may not be used, Corrupt when they are
// damaged, Unsupported when the database has another schema version, Full
// when there is no space.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	err := ctx.Err()
	if err != nil {
		return nil, canceled(err)
	}
	s := &Store{queue: newQueue(), topics: newTopics()}
	if s.lock, err = lockDir(dir); err == nil {
		if err = s.start(filepath.Join(dir, dbName), o); err != nil {
			err = errors.Join(storage(err), s.release())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open event store in %s: %w", dir, err)
	}
	return s, nil
}

func (s *Store) start(path string, o Options) (err error) {
	if s.writer, err = prepareFile(s.lock, path); err != nil {
		return err
	}
	_, cleaning, err := s.writer.number(unused)
	if err != nil {
		return err
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	s.pool = newPool(path, o.Readers)
	w := &writer{
		db: s.writer, topics: s.topics, lock: s.lock, cleaning: cleaning,
		cache: map[event.ConversationID]*conversation{}, changed: map[event.ConversationID]*conversation{},
	}
	s.queue.writer <- w
	if cleaning {
		signal(s.queue.clean)
	}
	s.wg.Go(s.queue.background)
	return nil
}

// Close implements [eventstream.Stream]. Followers end with an error of kind
// Canceled. It may be called more than once.
func (s *Store) Close() error {
	s.closed.Do(func() {
		s.queue.close()
		s.watching.Lock()
		close(s.topics.closed)
		s.watching.Unlock()
		s.wg.Wait()
		s.err = s.release()
	})
	return s.err
}

func (s *Store) release() error {
	var errs []error
	if s.watch != nil {
		errs = append(errs, s.watch.close())
	}
	if s.pool != nil {
		errs = append(errs, s.pool.close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	errs = append(errs, s.lock.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close event store: %w", storage(err))
	}
	return nil
}

// observe starts to watch for the commits of other processes. It is called by
// the first follower only, because ending it takes the kernel some 10 ms.
func (s *Store) observe() (err error) {
	s.watching.Lock()
	defer s.watching.Unlock()
	select {
	case <-s.topics.closed:
		return errClosed
	default:
	}
	if s.watch == nil {
		s.watch, err = startWatch(s.lock, s.queue.look)
	}
	return err
}
