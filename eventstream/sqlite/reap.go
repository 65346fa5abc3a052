package sqlite

// reapBatch is how many events one transaction of the clean-up deletes: few
// enough that an Append that comes in meanwhile hardly notices.
const reapBatch = 100

const stillUsed = `SELECT 1 WHERE EXISTS (SELECT 1 FROM conversations WHERE log = ?1)
OR EXISTS (SELECT 1 FROM segments WHERE src = ?1)`

// reapSome deletes some of the events that no conversation reaches any more.
// It runs between the requests of
// others, and goes on after a restart; a failure leaves the rest for the next
// time, because nobody waits for its result and nothing depends on it.
func (w *writer) reapSome() {
	more := false
	o := newOp(func(w *writer) error {
		log, found, err := w.c.number("SELECT log FROM dead LIMIT 1")
		if err != nil || !found {
			return err
		}
		more = true
		_, used, err := w.c.number(stillUsed, log)
		if err != nil {
			return err
		}
		if !used {
			n, err := w.c.exec("DELETE FROM records WHERE log = ?1 AND seq IN (SELECT seq FROM records WHERE log = ?1 ORDER BY seq LIMIT ?2)", log, int64(reapBatch))
			if err != nil || n == reapBatch {
				return err
			}
			n, err = w.c.exec("DELETE FROM ids WHERE log = ?1 AND id IN (SELECT id FROM ids WHERE log = ?1 LIMIT ?2)", log, int64(reapBatch))
			if err != nil || n == reapBatch {
				return err
			}
		}
		_, err = w.c.exec("DELETE FROM dead WHERE log = ?", log)
		return err
	})
	w.commit([]*op{o})
	w.reap = more && o.err == nil
}
