package sqlite

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// writer owns the one connection that writes. Who takes it from the queue runs all
// the requests that wait in one transaction: one fsync for all.
type writer struct {
	db       *conn
	topics   *topics
	lock     *os.File // written to after a commit, which wakes other processes
	cache    map[event.ConversationID]*conversation
	changed  map[event.ConversationID]*conversation // in this transaction
	removed  []event.ConversationID                 // in this transaction
	fresh    []fresh                                // events of this transaction
	version  int64                                  // PRAGMA data_version that cache belongs to
	cleaning bool                                   // there may be events to clean up
	touch    byte
}

// maxCached bounds the cache; an entry takes some 500 bytes.
const maxCached = 4096

// commit runs the requests in one transaction. When that fails as a whole,
// it tries each alone, so that one that does not fit on the disk does not
// take the others with it.
func (w *writer) commit(ops []*op) {
	if err := w.transact(ops); err != nil && len(ops) == 1 {
		ops[0].err = storage(err)
	} else if err != nil {
		for i := range ops {
			if err := w.transact(ops[i : i+1]); err != nil {
				ops[i].err = storage(err)
			}
		}
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
	if err == nil {
		w.cache[id] = c
	}
	return c, err
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

// forget ends a transaction.
func (w *writer) forget() {
	clear(w.changed)
	clear(w.fresh)
	w.fresh, w.removed = w.fresh[:0], w.removed[:0]
}

func (w *writer) rollback(cause error) error {
	clear(w.cache)
	w.forget()
	// SQLite has rolled back by itself after some errors. Whether a
	// transaction is still open shows in whether the next one begins.
	_, _ = w.db.exec("ROLLBACK")
	return cause
}

// flush writes the conversations that changed.
func (w *writer) flush() error {
	at := now()
	for _, c := range w.changed {
		if c.touched {
			c.updated, c.touched = max(at, c.updated), false
		}
		n, err := w.db.exec("UPDATE conversations SET events = ?, cost = ?, updated_at = ?, checksum = ? WHERE key = ?",
			int64(c.events), c.cost, c.updated, int64(checksum(0, c.values()...)), c.key)
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
		w.topics.wake(id, false)
		runtime.Gosched() // see finish
	}
	for _, id := range w.removed {
		w.topics.wake(id, true)
	}
	w.forget()
	if !watched(w.lock) {
		return
	}
	// A failed touch delays followers in other processes until the next
	// commit; the events are stored all the same.
	w.touch++
	_, _ = w.lock.WriteAt([]byte{w.touch}, 0)
}
