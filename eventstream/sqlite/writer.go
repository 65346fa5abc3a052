package sqlite

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// writer owns the one connection that writes. Its goroutine takes all the
// requests that wait and runs them in one transaction: one fsync for all.
type writer struct {
	c       *conn
	labels  *labels
	topics  *topics
	lock    *os.File // touched after a commit, for other processes
	heads   map[event.ConversationID]*head
	dirty   map[event.ConversationID]*head
	fresh   []fresh                // events of this transaction that are followed
	gone    []event.ConversationID // deleted in this transaction
	chunk   packer
	room    room
	path    string // of the database
	scratch []byte
	version int64 // PRAGMA data_version that heads belongs to
	reap    bool  // there may be rows that nobody can see
	touch   byte
}

// maxHeads bounds the cache of heads; an entry takes 1 to 3 KB.
const maxHeads = 4096

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
		for more := w.reap; more; more = w.reap && !q.waiting() {
			w.reapSome()
		}
	}
}

// taken drops the requests whose callers gave up.
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
	// Each may go on before the next is woken: a commit for hundreds of callers
	// would put all of them at once in front of everybody else in the process.
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
	if _, err := w.c.exec("COMMIT"); err != nil {
		return w.rollback(err)
	}
	w.publish()
	return nil
}

func (w *writer) begin() error {
	if _, err := w.c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := w.notice(); err != nil {
		return w.rollback(err)
	}
	for id := range w.heads {
		if len(w.heads) <= maxHeads {
			break
		}
		delete(w.heads, id)
	}
	if err := w.chunk.start(w.c); err != nil {
		return w.rollback(err)
	}
	w.room.make(w.path)
	return nil
}

// notice forgets what is cached when another process has written since, and
// wakes the followers, because it may have been to their conversations.
func (w *writer) notice() error {
	v, _, err := w.c.number("PRAGMA data_version")
	if err != nil {
		return err
	}
	if v != w.version {
		w.version = v
		clear(w.heads)
		w.chunk.reset()
		w.topics.wakeAll()
	}
	return nil
}

// look is notice between transactions. When it fails, the followers look for
// themselves and meet the error.
func (w *writer) look() {
	if err := w.notice(); err != nil {
		w.topics.wakeAll()
	}
}

func (w *writer) rollback(cause error) error {
	clear(w.heads)
	clear(w.dirty)
	w.chunk.reset()
	w.fresh = w.fresh[:0]
	w.gone = w.gone[:0]
	// SQLite has rolled back by itself after some errors. Whether a
	// transaction is still open shows in whether the next one begins.
	_, undo := w.c.exec("ROLLBACK")
	if err := w.labels.load(w.c); err != nil {
		return errors.Join(cause, undo, err)
	}
	return cause
}

// flush writes the heads that changed and the last events.
func (w *writer) flush() error {
	if err := w.chunk.flush(w.c); err != nil {
		return err
	}
	now := time.Now().UnixNano()
	for _, h := range w.dirty {
		h.updated = max(now, h.updated)
		if err := w.save(h); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) save(h *head) error {
	w.scratch = h.packTail(w.scratch[:0])
	n, err := w.c.exec("UPDATE heads SET events = ?, indexed = ?, updated = ?, status = ?, cost = ?, tail = ?, sum = ? WHERE log = ?",
		int64(h.events), int64(h.indexed), h.updated, h.status, int64(math.Float64bits(h.cost)), w.scratch, h.sum(w.scratch), h.log)
	if err == nil && n != 1 {
		err = fmt.Errorf("head of log %d is gone: %w", h.log, errShape)
	}
	return err
}

// publish makes a commit known to followers, here and in other processes.
func (w *writer) publish() {
	if len(w.dirty) == 0 && len(w.gone) == 0 {
		return
	}
	w.topics.publish(w.fresh)
	for id := range w.dirty {
		w.topics.wake(id)
		runtime.Gosched() // see commit
	}
	for _, id := range w.gone {
		w.topics.drop(id)
	}
	clear(w.fresh)
	w.fresh = w.fresh[:0]
	clear(w.dirty)
	w.gone = w.gone[:0]
	if !watched(w.lock) {
		return
	}
	// A failed touch delays followers in other processes until the next
	// commit; the events are stored all the same.
	w.touch++
	_, _ = w.lock.WriteAt([]byte{w.touch}, 0)
}
