package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// ErrLocked says that another process, or another caller of this one, works on the
// conversation. Its kind is fault.Conflict.
var ErrLocked = fault.New(fault.Conflict, "another process works on the conversation")

// Locks let one process at a time work on a conversation. They implement session.Lock
// and session.LockWatcher.
//
// A lock is a row that names the process, which lives as long as the process is
// connected: no clock, no heartbeat. A process that is killed is noticed within a second, a
// machine that vanishes after some 9 s, by the server's keep-alive probes. A process
// that loses its connection has 3 s to get it back; then its locks are lost. Others take
// them over 4 s after the connection has ended.
//
// Whatever the clocks say, only one process appends: Append, SetMeta and Delete of a
// [Store] whose Locks have locked a conversation check in their transaction that the lock
// is still its own, and taking over waits for such a transaction. A process that has lost
// a lock is refused until it has released the lock.
//
// All methods are safe for concurrent use.
type Locks struct {
	s *Store

	registering sync.Mutex // held while the process registers

	mu         sync.Mutex
	process    int32 // the id of this process; 0 if it has none now
	held       map[event.ConversationID]*lease
	unreleased []string // ids of conversations that could not be released
	lost       func(event.ConversationID)
	closed     bool

	changed chan struct{} // has a token when the processes may have changed
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// lease is a lock that is held, or about to be.
type lease struct {
	process  int32 // that acquired it; 0 for not yet
	lost     bool
	released chan struct{}
}

func newLocks(s *Store) *Locks {
	l := &Locks{s: s, held: map[event.ConversationID]*lease{}, changed: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancel(s.ctx)
	return l
}

// holder returns the process that must have a conversation locked for this one to append
// to it; 0 if it is not locked here.
func (l *Locks) holder(id event.ConversationID) int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.held[id]; e != nil {
		return e.process
	}
	return 0
}

// alive is true for a process p.id that is connected: it holds its advisory lock.
const alive = `EXISTS (SELECT 1 FROM pg_locks k WHERE k.locktype = 'advisory' AND k.granted AND k.mode = 'ExclusiveLock' AND k.objsubid = 2
AND k.classid = current_schema()::regnamespace::oid AND k.objid = p.id::bigint::oid
AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database()))`

// acquireLock takes a lock that is free, or of a process that is not connected any more.
const acquireLock = `INSERT INTO locks AS l (conversation, process) VALUES ($1, $2)
ON CONFLICT (conversation) DO UPDATE SET process = excluded.process
WHERE l.process = excluded.process OR NOT EXISTS (SELECT 1 FROM processes p WHERE p.id = l.process AND ` + alive + `)`

// Acquire locks a conversation until release is called or the process ends. [ErrLocked]
// if it is locked already, Unavailable when the server cannot be reached.
func (l *Locks) Acquire(ctx context.Context, id event.ConversationID) (release func(), err error) {
	e, err := l.reserve(ctx, id)
	if err != nil {
		return nil, err
	}
	process, err := l.acquire(ctx, id)
	l.mu.Lock()
	if err == nil && process != l.process {
		err = errLost
	}
	e.process = process
	l.mu.Unlock()
	if err != nil {
		l.forget(id, e)
		return nil, err
	}
	return sync.OnceFunc(func() { l.release(id, e) }), nil
}

var errLost = fault.New(fault.Unavailable, "the connection to the PostgreSQL server was lost").Hint(serverHint)

// reserve makes this caller the only one of the process. A lock that was lost is waited
// for: whoever had it is about to release it.
func (l *Locks) reserve(ctx context.Context, id event.ConversationID) (*lease, error) {
	for {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			return nil, errClosed
		}
		before := l.held[id]
		if before == nil {
			e := &lease{released: make(chan struct{})}
			l.held[id] = e
			l.mu.Unlock()
			return e, nil
		}
		lost := before.lost
		l.mu.Unlock()
		if !lost {
			return nil, ErrLocked
		}
		timer := time.NewTimer(takeOverDelay)
		select {
		case <-before.released:
			timer.Stop()
		case <-timer.C:
			return nil, ErrLocked
		case <-ctx.Done():
			timer.Stop()
			return nil, canceled(ctx.Err())
		}
	}
}

func (l *Locks) acquire(ctx context.Context, id event.ConversationID) (process int32, err error) {
	if process, err = l.register(ctx); err != nil {
		return 0, err
	}
	stored := encodeText(string(id))
	err = l.s.transact(ctx, func(tx pgx.Tx) error {
		// An append of the process that had the lock is over when this row is locked.
		if _, err := tx.Exec(ctx, "SELECT FROM conversations WHERE id = $1 FOR UPDATE", stored); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, acquireLock, stored, process)
		var e *pgconn.PgError
		if errors.As(err, &e) && e.Code == "23503" { // foreign_key_violation: the process was taken for ended
			return errLost
		}
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrLocked
		}
		return err
	})
	return process, err
}

// forget removes a lease.
func (l *Locks) forget(id event.ConversationID, e *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[id] == e {
		delete(l.held, id)
	}
	close(e.released)
}

// releaseTimeout bounds how long a release waits for the server.
const releaseTimeout = 5 * time.Second

func (l *Locks) release(id event.ConversationID, e *lease) {
	l.mu.Lock()
	ids := append(l.unreleased, encodeText(string(id)))
	l.unreleased = nil
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), releaseTimeout)
	defer cancel()
	if _, err := l.s.pool.Exec(ctx, "DELETE FROM locks WHERE conversation = ANY($1) AND process = $2", ids, e.process); err != nil {
		l.mu.Lock()
		l.unreleased = append(l.unreleased, ids...) // with the next one, or when the process ends
		l.mu.Unlock()
	}
	l.forget(id, e)
}

// Held reports whether a conversation is locked, by another process or by a caller of
// this one.
func (l *Locks) Held(id event.ConversationID) (held bool, err error) {
	l.mu.Lock()
	e := l.held[id]
	l.mu.Unlock()
	if e != nil && !e.lost {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, releaseTimeout)
	defer cancel()
	err = l.s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM locks l JOIN processes p ON p.id = l.process WHERE l.conversation = $1 AND "+alive+")", encodeText(string(id))).Scan(&held)
	return held, l.s.failed(ctx, err)
}

// Holder returns the address of the process that has locked the first of some
// conversations that another process has locked. "" if none is locked, if this process has
// locked one, or if the other one has no address. It implements session.LockLocator.
func (l *Locks) Holder(ctx context.Context, ids ...event.ConversationID) (address string, err error) {
	stored := make([]string, len(ids))
	l.mu.Lock()
	for i, id := range ids {
		if e := l.held[id]; e != nil && !e.lost {
			l.mu.Unlock()
			return "", nil
		}
		stored[i] = encodeText(string(id))
	}
	l.mu.Unlock()
	err = l.s.pool.QueryRow(ctx, "SELECT p.address FROM locks l JOIN processes p ON p.id = l.process WHERE l.conversation = ANY($1) AND "+alive+
		" ORDER BY array_position($1, l.conversation) LIMIT 1", stored).Scan(&address)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err == nil {
		address, err = decodeText(address)
	}
	return address, l.s.failed(ctx, err)
}

// Close releases everything. It may be called more than once.
func (l *Locks) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	l.registering.Lock() // a registration that is under way comes first
	defer l.registering.Unlock()
	l.mu.Lock()
	process := l.process
	l.mu.Unlock()
	var err error
	if process != 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), releaseTimeout)
		defer cancel()
		if _, err = l.s.pool.Exec(ctx, "DELETE FROM processes WHERE id = $1", process); err == nil {
			err = l.announce(ctx)
		}
	}
	l.cancel()
	l.wg.Wait()
	return storage(err)
}

// heldBy returns the conversations that a process has locked, and not lost.
func (l *Locks) heldBy(process int32) (ids []event.ConversationID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, e := range l.held {
		if e.process == process && !e.lost {
			ids = append(ids, id)
		}
	}
	return ids
}

// lose marks locks of a process as lost and tells the watcher.
func (l *Locks) lose(process int32, ids []event.ConversationID) {
	for _, id := range ids {
		l.mu.Lock()
		e := l.held[id]
		gone := e != nil && e.process == process && !e.lost
		if gone {
			e.lost = true
		}
		lost := l.lost
		l.mu.Unlock()
		if !gone {
			continue
		}
		l.s.log.Warn("lost the lock of a conversation", "conversation", id)
		if lost != nil {
			l.wg.Go(func() { lost(id) })
		}
	}
}
