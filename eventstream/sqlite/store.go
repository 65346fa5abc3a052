// Package sqlite keeps event streams in one SQLite database: the store of
// one machine.
//
// # Usage
//
//	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
//	defer s.Close()
//
// The directory holds events.db (with -wal and -shm files while it is open)
// and events.lock. Directory and files can be read by their owner only.
// [Salvage] copies what is intact of a damaged store to a new one.
//
// Conversations and events are plain tables that any SQLite client can read;
// see schema.sql. A database of another schema version is refused.
//
// # Concurrency
//
// A [Store] is safe for concurrent use, and several processes may open one
// directory at a time. One goroutine writes: it puts all requests that wait
// into one transaction, so that many writers share one fsync. A refused
// request does not affect the others. Readers have connections of their own;
// they wait neither for the writer nor for each other, and hold no lock while
// the caller looks at a record. Followers sleep until an append wakes them,
// also one of another process (on Linux).
//
// # Failure
//
// A commit is on disk (WAL, synchronous=FULL) before it is acknowledged. Each
// row has a checksum, events are numbered without gaps, and their number is
// stored with the conversation. So what was lost or changed below SQLite gives
// an error of kind fault.Corrupt, at [Open] or where it is read, and what is
// intact stays readable. Indexes have no checksums of their own: an id, a kind
// or a time that changed there may not be found by Get, Search and Count, while
// Read and Follow check every event. A full disk gives fault.Full; the store
// stays readable and writes again when there is space.
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
	"github.com/deft-dev/deft/fault"
)

const (
	dbName   = "events.db"
	lockName = "events.lock"
)

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
	s, err := open(ctx, dir, o)
	if err != nil {
		return nil, fmt.Errorf("open event store in %s: %w", dir, err)
	}
	return s, nil
}

func open(ctx context.Context, dir string, o Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, canceled(err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{queue: newQueue(), topics: newTopics(), lock: lock}
	if err := s.start(filepath.Join(dir, dbName), o); err != nil {
		return nil, errors.Join(storage(err), s.release())
	}
	return s, nil
}

func (s *Store) start(path string, o Options) (err error) {
	if s.writer, err = prepareFile(s.lock, path); err != nil {
		return err
	}
	_, cleaning, err := s.writer.number("SELECT 1 FROM deleted LIMIT 1")
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
	s.wg.Go(func() { w.run(s.queue) })
	if cleaning {
		s.queue.look() // starts the clean-up
	}
	return nil
}

// Close implements [eventstream.Stream]. Followers end with an error of kind
// Canceled. It may be called more than once.
func (s *Store) Close() error {
	s.closed.Do(func() {
		s.queue.close()
		s.watching.Lock()
		s.topics.close()
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
		s.watch, err = startWatch(s.lock, s.touched)
	}
	return err
}

// touched is called after a commit of another process.
func (s *Store) touched() {
	if !s.topics.idle() {
		s.queue.look()
	}
}

// fsError gives an error of the file system its kind.
func fsError(err error, what string) error {
	switch {
	case errors.Is(err, os.ErrPermission):
		return fault.New(fault.Denied, what).Hint("check the owner and the mode of the data directory").Because(err)
	case isNoSpace(err):
		return fault.New(fault.Full, what).Hint(spaceHint).Because(err)
	}
	return fault.Wrap(err, fault.Unavailable, what)
}
