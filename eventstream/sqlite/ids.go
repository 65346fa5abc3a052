package sqlite

import (
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// maxTail is how many of a log's newest events may be missing from the table
// ids. Entering them together costs about as many page writes as entering one
// alone, as long as the log is not very long.
const maxTail = 128

// loadTail reads the ids that are not in the table yet.
func (h *head) loadTail(c *conn) error {
	h.tail = map[event.ID]eventstream.Seq{}
	r := c.query("SELECT id, seq FROM records WHERE log = ? AND seq > ?", h.log, int64(h.indexed))
	for r.next() {
		h.tail[unpackID(r.vals[0])] = eventstream.Seq(r.int(1))
	}
	return r.close()
}

// index enters the tail into the table ids. The caller saves the head.
func (w *writer) index(h *head) error {
	for id, seq := range h.tail {
		if _, err := w.c.exec("INSERT OR REPLACE INTO ids (log, id, seq) VALUES (?, ?, ?)", h.log, packID(id), int64(seq)); err != nil {
			return err
		}
	}
	h.indexed = h.events
	clear(h.tail)
	return nil
}

// findID returns where in the conversation the event of an id lies that is in
// the log src and in the table ids, or 0.
func findID(c *conn, h *head, src int64, id any) (eventstream.Seq, error) {
	n, found, err := c.number("SELECT seq FROM ids WHERE log = ? AND id = ?", src, id)
	if err != nil || !found {
		return 0, err
	}
	seq := eventstream.Seq(n)
	if own := h.own(); src == own.src && own.first <= seq && seq <= own.last {
		return seq, nil
	}
	for _, p := range h.pieces {
		if p.src == src && p.first <= seq && seq <= p.last {
			return p.at + seq - p.first, nil
		}
	}
	return 0, nil
}

// locate returns the number of an event in the conversation, 0 if it has none
// of that id.
func locate(c *conn, h *head, ev event.ID) (eventstream.Seq, error) {
	key := packID(ev)
	n, found, err := c.number("SELECT seq FROM records WHERE log = ? AND seq > ? AND id = ?", h.log, int64(h.indexed), key)
	if err != nil || found {
		return eventstream.Seq(n), err
	}
	asked := map[int64]bool{}
	for _, p := range append([]piece{h.own()}, h.pieces...) {
		if asked[p.src] {
			continue
		}
		asked[p.src] = true
		if seq, err := findID(c, h, p.src, key); err != nil || seq != 0 {
			return seq, err
		}
	}
	return 0, nil
}
