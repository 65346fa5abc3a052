package sqlite

// reapBatch is how many rows one transaction of the clean-up deletes: few
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
			if found, err := w.reapLump(log); err != nil || found {
				return err
			}
			n, err := w.c.exec("DELETE FROM ids WHERE bucket IN (SELECT bucket FROM ids WHERE bucket >= ? AND bucket <= ? LIMIT ?)",
				lumpKey(log, 0), lumpKey(log, maxLumps-1), int64(reapBatch))
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

// reapLump deletes the events of one lump of a log, and then the lump.
func (w *writer) reapLump(log int64) (found bool, err error) {
	r := w.c.query(selectLumps+" LIMIT 1", lumpKey(log, 0), lumpKey(log, maxLumps-1))
	var key int64
	var l lump
	ok := false
	if r.next() {
		found, key = true, r.int(0)
		var body []byte
		if body, ok = unsealed(key, r.blob(1)); ok {
			l, _, ok = parseLump(key-lumpKey(log, 0), body)
		}
	}
	if err := r.close(); err != nil || !found {
		return found, err
	}
	// Where the events of a damaged lump are is not known: they stay.
	for i := 0; ok && i < len(l.spots); {
		slots := map[int]bool{}
		chunk := l.spots[i].chunk
		for ; i < len(l.spots) && l.spots[i].chunk == chunk; i++ {
			slots[l.spots[i].slot] = true
		}
		if err := w.erase(chunk, slots); err != nil {
			return true, err
		}
	}
	_, err = w.c.exec("DELETE FROM places WHERE lump = ?", key)
	return true, err
}

// erase removes records of a chunk, and the chunk with its last one.
func (w *writer) erase(chunk int64, slots map[int]bool) error {
	r := w.c.query("SELECT recs FROM chunks WHERE chunk = ?", chunk)
	var recs []byte
	if r.next() {
		recs = r.blob(0)
	}
	if err := r.close(); err != nil {
		return err
	}
	out, left, ok := without(recs, slots)
	switch {
	case !ok:
		return nil // damaged: what else is in it cannot be told apart
	case left:
		_, err := w.c.exec("UPDATE chunks SET recs = ? WHERE chunk = ?", out, chunk)
		return err
	}
	_, err := w.c.exec("DELETE FROM chunks WHERE chunk = ?", chunk)
	return err
}
