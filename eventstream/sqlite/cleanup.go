package sqlite

// cleanupStep is how many events one transaction of the clean-up deletes: few
// enough that an Append that comes in meanwhile hardly notices.
const cleanupStep = 100

// inUse selects a row if a conversation exists or a fork shares its events.
const inUse = `SELECT 1 WHERE EXISTS (SELECT 1 FROM conversations WHERE key = ?1)
OR EXISTS (SELECT 1 FROM segments WHERE source = ?1)`

// cleanUp deletes some events that no conversation has any more. It runs
// between the requests of callers and goes on after a restart. A failure
// leaves the rest for the next time: no caller waits for it.
func (w *writer) cleanUp() {
	more := false
	o := newOp(func(w *writer) error {
		key, found, err := w.db.number("SELECT conversation FROM deleted LIMIT 1")
		if err != nil || !found {
			return err
		}
		more = true
		_, used, err := w.db.number(inUse, key)
		if err != nil {
			return err
		}
		if !used {
			n, err := w.db.exec("DELETE FROM events WHERE rowid IN (SELECT rowid FROM events WHERE conversation = ? LIMIT ?)", key, int64(cleanupStep))
			if err != nil || n == cleanupStep {
				return err
			}
		}
		_, err = w.db.exec("DELETE FROM deleted WHERE conversation = ?", key)
		return err
	})
	w.commit([]*op{o})
	w.cleaning = more && o.err == nil
}
