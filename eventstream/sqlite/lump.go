package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// A lump tells where up to 64 events of a log are: those whose seq-1 is the
// same without its last 6 bits. Lumps are written when they are full; where
// the events of the last, unfinished one are stands in the head. A stored
// lump is a checksum (see sealed) and
//
//	first     a varint: the offset in the lump of its first event
//	min, max  the first and the last of the timestamps, each behind its length
//	places    of each event: how much higher the number of its chunk is than
//	          that of the event before, its slot and its label, as varints
const lumpEvents = 64

// maxLumps bounds the lumps of a log, and so its events.
const maxLumps = 1 << 24

type lump struct {
	first    eventstream.Seq
	min, max string // timestamps
	spots    []spot
}

func (l *lump) last() eventstream.Seq { return l.first + eventstream.Seq(len(l.spots)) - 1 }

func lumpOf(seq eventstream.Seq) int64 { return int64(seq-1) / lumpEvents }

func lumpKey(log, n int64) int64 { return log<<24 | n }

// add notes where the next event is.
func (l *lump) add(s spot, ts event.Timestamp) {
	if len(l.spots) == 0 || string(ts) < l.min {
		l.min = string(ts)
	}
	if len(l.spots) == 0 || string(ts) > l.max {
		l.max = string(ts)
	}
	l.spots = append(l.spots, s)
}

func (l *lump) appendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(l.first-1)%lumpEvents)
	for _, s := range [...]string{l.min, l.max} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	b = binary.AppendUvarint(b, uint64(len(l.spots)))
	at := int64(0)
	for _, s := range l.spots {
		b = binary.AppendUvarint(b, uint64(s.chunk-at))
		b = binary.AppendUvarint(b, uint64(s.slot))
		b = binary.AppendUvarint(b, uint64(s.label))
		at = s.chunk
	}
	return b
}

// parseLump reads what appendTo wrote; n is the number of the lump in its
// log. ok is false for anything else.
func parseLump(n int64, b []byte) (l lump, rest []byte, ok bool) {
	bad := false
	number := func() uint64 {
		v, w := binary.Uvarint(b)
		if w <= 0 {
			bad = true
			return 0
		}
		b = b[w:]
		return v
	}
	text := func() string {
		n := number()
		if n > uint64(len(b)) {
			bad = true
			return ""
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	first := number()
	l.first = eventstream.Seq(n)*lumpEvents + eventstream.Seq(first) + 1
	l.min = text()
	l.max = text()
	count := number()
	if bad || first >= lumpEvents || count > lumpEvents-first {
		return l, nil, false
	}
	l.spots = make([]spot, count)
	at := int64(0)
	for i := range l.spots {
		at += int64(number())
		l.spots[i] = spot{chunk: at, slot: int(number()), label: int64(number())}
	}
	return l, b, !bad
}

// saveLump writes a lump of a log to its table.
func (w *writer) saveLump(log int64, l *lump) error {
	key := lumpKey(log, lumpOf(l.first))
	w.scratch = l.appendTo(append(w.scratch[:0], 0, 0, 0, 0))
	_, err := w.c.exec("INSERT OR REPLACE INTO places (lump, body) VALUES (?, ?)", key, sealed(key, w.scratch))
	return err
}

const (
	selectLumps     = "SELECT lump, body FROM places WHERE lump >= ? AND lump <= ? ORDER BY lump"
	selectLumpsBack = selectLumps + " DESC"
)

// run is a part of a lump: events of one log, and the conversation's number
// of the first.
type run struct {
	lump
	src int64
	at  eventstream.Seq
}

// walk visits the runs that hold the events of a piece of the conversation,
// until visit says no. An event whose place is lost ends it with a lostPlace.
func (h *head) walk(db *conn, p piece, back bool, visit func(run) (bool, error)) error {
	own := p.src == h.log && len(h.tail.spots) > 0
	tail := own && p.last >= h.tail.first
	stored := p
	if tail {
		stored.last = min(p.last, h.tail.first-1)
	}
	step := func(l lump) (bool, error) { return visit(clip(p, l)) }
	if tail && back {
		if more, err := step(h.tail); err != nil || !more {
			return err
		}
	}
	if stored.first <= stored.last {
		if more, err := walkStored(db, stored, back, step); err != nil || !more {
			return err
		}
	}
	if tail && !back {
		_, err := step(h.tail)
		return err
	}
	return nil
}

// clip cuts a lump to the events of a piece.
func clip(p piece, l lump) run {
	lo, hi := max(p.first, l.first), min(p.last, l.last())
	l.spots = l.spots[lo-l.first : hi-l.first+1]
	l.first = lo
	return run{lump: l, src: p.src, at: p.at + lo - p.first}
}

// lostPlace means that it is not known where an event is. seq is its number
// in the log.
type lostPlace struct{ seq eventstream.Seq }

func (lostPlace) Unwrap() error { return errShape }

func (e lostPlace) Error() string {
	return fmt.Sprintf("it is not known where event %d of the log is", e.seq)
}

func walkStored(db *conn, p piece, back bool, visit func(lump) (bool, error)) (more bool, err error) {
	n, end, sql, step := lumpOf(p.first), lumpOf(p.last), selectLumps, int64(1)
	lo, hi := lumpKey(p.src, n), lumpKey(p.src, end)
	if back {
		n, end, sql, step = end, n, selectLumpsBack, -1
	}
	r := db.query(sql, lo, hi)
	more = true
	for ; more && err == nil; n += step {
		l, ok := nextLump(r, p, n)
		if !ok {
			err = lostPlace{max(p.first, eventstream.Seq(n)*lumpEvents+1)}
			break
		}
		more, err = visit(l)
		if n == end {
			break
		}
	}
	if closeErr := r.close(); closeErr != nil && more {
		// What SQLite says tells more than that something is missing.
		err = firstError(notLost(err), closeErr)
	}
	return more, err
}

func notLost(err error) error {
	if _, lost := errors.AsType[lostPlace](err); lost {
		return nil
	}
	return err
}

// nextLump reads lump n of a log from a row that is due. It must hold all
// that the piece has of it.
func nextLump(r *rows, p piece, n int64) (lump, bool) {
	if !r.next() || r.int(0) != lumpKey(p.src, n) {
		return lump{}, false
	}
	body, ok := unsealed(r.int(0), r.blob(1))
	if !ok {
		return lump{}, false
	}
	l, _, ok := parseLump(n, body)
	lo, hi := max(p.first, eventstream.Seq(n)*lumpEvents+1), min(p.last, eventstream.Seq(n+1)*lumpEvents)
	return l, ok && l.first <= lo && l.last() >= hi
}
