package sqlite

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// writer owns the one connection that writes. Its goroutine takes all the
// requests that wait and runs them in one transaction: one fsync for all.
type writer struct {
	db       *conn
	topics   *topics
	lock     *os.File // written to after a commit, which wakes other processes
	cache    map[event.ConversationID]*conversation
	changed  map[event.ConversationID]*conversation // in this transaction
	removed  []event.ConversationID                 // in this transaction
	fresh    []fresh                                // events of this transaction that are followed
	version  int64                                  // PRAGMA data_version that cache belongs to
	cleaning bool                                   // there may be events to clean up
	touch    byte
}

// maxCached bounds the cache; an entry takes some 500 bytes.
const maxCached = 4096

func (w *writer) run(q *queue) {
	for {
		ops, probe, ok := q.take()
		if !ok {
			return
		}
		if probe {
			w.look()
		}
		w.commit(taken(ops))
		// One step at least, or a busy store would never be cleaned up.
		for more := w.cleaning; more; more = w.cleaning && !q.waiting() {
			w.cleanUp()
		}
	}
}

// taken drops the requests that were canceled.
func taken(ops []*op) []*op {
	kept := ops[:0]
	for _, o := range ops {
		if o.state.CompareAndSwap(opQueued, opTaken) {
			kept = append(kept, o)
		}
	}
	return kept
}

// commit runs the requests in one transaction. When that fails as a whole,
// it tries each alone, so that one that does not fit on the disk does not
// take the others with it.
func (w *writer) commit(ops []*op) {
	if len(ops) == 0 {
		return
	}
	err := w.transact(ops)
	switch {
	case err == nil:
	case len(ops) == 1:
		ops[0].err = storage(err)
	default:
		for i := range ops {
			if err := w.transact(ops[i : i+1]); err != nil {
				ops[i].err = storage(err)
			}
		}
	}
	// Yields after each: to wake hundreds of callers at once would delay
	// everything else in the process.
	for _, o := range ops {
		close(o.done)
		runtime.Gosched()
	}
}

func (w *writer) transact(ops []*op) error {
	if err := w.begin(); err != nil {
		return err
	}
	for _, o := range ops {
		o.err = o.apply(w)
		var refused *fault.Error
		if o.err != nil && !errors.As(o.err, &refused) {
			return w.rollback(o.err)
		}
	}
	if err := w.flush(); err != nil {
		return w.rollback(err)
	}
	if _, err := w.db.exec("COMMIT"); err != nil {
		return w.rollback(err)
	}
	w.publish()
	return nil
}

func (w *writer) begin() error {
	if _, err := w.db.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := w.notice(); err != nil {
		return w.rollback(err)
	}
	for id := range w.cache {
		if len(w.cache) <= maxCached {
			break
		}
		delete(w.cache, id)
	}
	return nil
}

// conversation returns a conversation as this transaction sees it, NotFound if
// there is none.
func (w *writer) conversation(id event.ConversationID) (*conversation, error) {
	if c := w.cache[id]; c != nil {
		return c, nil
	}
	c, err := load(w.db, id)
	if err != nil {
		return nil, err
	}
	w.cache[id] = c
	return c, nil
}

// notice empties the cache when another process has written since, and wakes
// the followers, because it may have been to their conversations.
func (w *writer) notice() error {
	v, _, err := w.db.number("PRAGMA data_version")
	if err != nil {
		return err
	}
	if v != w.version {
		w.version = v
		clear(w.cache)
		w.topics.wakeAll()
	}
	return nil
}

// look is notice between transactions. When it fails, the followers are woken
// and get the error when they read.
func (w *writer) look() {
	if err := w.notice(); err != nil {
		w.topics.wakeAll()
	}
}

func (w *writer) rollback(cause error) error {
	clear(w.cache)
	clear(w.changed)
	w.fresh = w.fresh[:0]
	w.removed = w.removed[:0]
	// SQLite has rolled back by itself after some errors. Whether a
	// transaction is still open shows in whether the next one begins.
	_, _ = w.db.exec("ROLLBACK")
	return cause
}

// flush writes the conversations that changed.
func (w *writer) flush() error {
	at := now()
	for _, c := range w.changed {
		c.updated = max(at, c.updated)
		n, err := w.db.exec("UPDATE conversations SET events = ?, cost = ?, updated_at = ?, checksum = ? WHERE key = ?",
			int64(c.events), c.cost, c.updated, c.checksum(), c.key)
		if err == nil && n != 1 {
			err = fmt.Errorf("the row of conversation %s is missing: %w", c.id, errDamaged)
		}
		if err == nil && c.status != c.stored { // it is in an index
			_, err = w.db.exec("UPDATE conversations SET status = ? WHERE key = ?", c.status, c.key)
			c.stored = c.status
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// publish makes a commit known to followers, here and in other processes.
func (w *writer) publish() {
	if len(w.changed) == 0 && len(w.removed) == 0 {
		return
	}
	w.topics.publish(w.fresh)
	for id := range w.changed {
		w.topics.wake(id)
		runtime.Gosched() // see commit
	}
	for _, id := range w.removed {
		w.topics.drop(id)
	}
	clear(w.fresh)
	w.fresh = w.fresh[:0]
	clear(w.changed)
	w.removed = w.removed[:0]
	if !watched(w.lock) {
		return
	}
	// A failed touch delays followers in other processes until the next
	// commit; the events are stored all the same.
	w.touch++
	_, _ = w.lock.WriteAt([]byte{w.touch}, 0)
}
