package sqlite

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// The ids of a log are a linear hash table: its buckets are split one by one
// as it grows, so that no insert costs more than its share. A bucket is a
// checksum (see sealed) and entries of 8 bytes: hash and seq, little endian;
// the entry 0, 0 is empty. Two ids may have one hash; the records tell.

const (
	entryLen = 8
	// bucketLoad is how many entries a bucket has on average at most.
	bucketLoad = 128
	// bucketStep is what the number of entries is a multiple of: a row that
	// keeps its length is overwritten in place.
	bucketStep = 32
)

func hashID(id event.ID) uint32 {
	var b [64]byte
	return crc32.Checksum(append(b[:0], id...), castagnoli)
}

// bucketOf returns where a hash belongs in a table of n buckets.
func bucketOf(hash uint32, n int64) int64 {
	low := int64(1) << (bits.Len64(uint64(n)) - 1) // the power of two that is not above n
	if b := int64(hash) & (2*low - 1); b < n {
		return b
	}
	return int64(hash) & (low - 1)
}

// countBuckets returns how many buckets a log has.
func countBuckets(c *conn, log int64) (int64, error) {
	top, _, err := c.number("SELECT coalesce(max(bucket), -1) FROM ids WHERE bucket >= ? AND bucket <= ?", lumpKey(log, 0), lumpKey(log, maxLumps-1))
	if err != nil || top < 0 {
		return 0, err
	}
	return top - lumpKey(log, 0) + 1, nil
}

// bucketsFor returns how many buckets a log with n entries has.
func bucketsFor(n int64) int64 { return max(1, (n+bucketLoad-1)/bucketLoad) }

var errLostIDs = fmt.Errorf("a part of the list of ids is gone: %w", errShape)

type entry struct {
	hash uint32
	seq  uint32
}

// loadBucket returns the entries of a bucket in bytes, without the checksum.
func loadBucket(c *conn, key int64) ([]byte, error) {
	r := c.query("SELECT body FROM ids WHERE bucket = ?", key)
	var body []byte
	ok := false
	if r.next() {
		body, ok = unsealed(key, r.blob(0))
	}
	if err := r.close(); err != nil {
		return nil, err
	}
	if !ok || len(body)%entryLen != 0 {
		return nil, fmt.Errorf("a part of the list of ids is damaged: %w", errShape)
	}
	return body, nil
}

// entries lists what a bucket holds.
func entries(body []byte, out []entry) []entry {
	for ; len(body) >= entryLen; body = body[entryLen:] {
		if e := (entry{binary.LittleEndian.Uint32(body), binary.LittleEndian.Uint32(body[4:])}); e.seq != 0 {
			out = append(out, e)
		}
	}
	return out
}

func (w *writer) saveBucket(key int64, es []entry) error {
	b := append(w.scratch[:0], 0, 0, 0, 0)
	for _, e := range es {
		b = binary.LittleEndian.AppendUint32(b, e.hash)
		b = binary.LittleEndian.AppendUint32(b, e.seq)
	}
	for (len(b)-4)/entryLen%bucketStep != 0 {
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	w.scratch = b
	_, err := w.c.exec("INSERT OR REPLACE INTO ids (bucket, body) VALUES (?, ?)", key, sealed(key, b))
	return err
}

// index enters the tail into the table ids. The caller saves the head.
func (w *writer) index(h *head) error {
	n := int64(h.indexed - h.base) // entries now
	if n == 0 {
		h.buckets = 0
		if err := w.learn(h); err != nil {
			return err
		}
	} else if err := h.knowBuckets(w.c); err != nil {
		return err
	}
	var fresh []entry
	for i, x := range h.hashes {
		if seq := h.tail.first + eventstream.Seq(i); seq > h.indexed {
			fresh = append(fresh, entry{x, uint32(seq)})
		}
	}
	added := h.hashes[len(h.hashes)-len(fresh):]
	for h.buckets < bucketsFor(n+int64(len(fresh))) {
		if err := w.split(h); err != nil {
			return err
		}
	}
	if err := w.enter(h, fresh); err != nil {
		return err
	}
	h.indexed = h.events
	return w.widen(h, added)
}

// enter adds entries to their buckets.
func (w *writer) enter(h *head, fresh []entry) error {
	slices.SortFunc(fresh, func(a, b entry) int {
		return int(bucketOf(a.hash, h.buckets) - bucketOf(b.hash, h.buckets))
	})
	for len(fresh) > 0 {
		at := bucketOf(fresh[0].hash, h.buckets)
		k := 1
		for k < len(fresh) && bucketOf(fresh[k].hash, h.buckets) == at {
			k++
		}
		body, err := loadBucket(w.c, lumpKey(h.log, at))
		if err != nil {
			return err
		}
		if err := w.saveBucket(lumpKey(h.log, at), append(entries(body, nil), fresh[:k]...)); err != nil {
			return err
		}
		fresh = fresh[k:]
	}
	return nil
}

// widen adds to the filter of a log what was entered into its buckets.
func (w *writer) widen(h *head, added []uint32) error {
	if h.known == nil {
		return nil
	}
	for _, x := range added {
		h.known.add(x)
	}
	if h.known.full() {
		return w.learn(h)
	}
	return nil
}

// knowBuckets finds out how many buckets a log has, if it has indexed events.
func (h *head) knowBuckets(c *conn) (err error) {
	if h.buckets > 0 {
		return nil
	}
	h.buckets, err = countBuckets(c, h.log)
	if err == nil && h.buckets != bucketsFor(int64(h.indexed-h.base)) {
		h.buckets, err = 0, errLostIDs
	}
	return err
}

// split adds one bucket and moves to it what belongs there.
func (w *writer) split(h *head) error {
	n := h.buckets
	h.buckets++
	if n == 0 {
		return w.saveBucket(lumpKey(h.log, 0), nil)
	}
	from := n - int64(1)<<(bits.Len64(uint64(n))-1)
	body, err := loadBucket(w.c, lumpKey(h.log, from))
	if err != nil {
		return err
	}
	var stay, move []entry
	for _, e := range entries(body, nil) {
		if bucketOf(e.hash, n+1) == n {
			move = append(move, e)
		} else {
			stay = append(stay, e)
		}
	}
	if err := w.saveBucket(lumpKey(h.log, from), stay); err != nil {
		return err
	}
	return w.saveBucket(lumpKey(h.log, n), move)
}

// lookUp returns which events of a log may have an id, by its hash.
func lookUp(c *conn, log, buckets int64, hash uint32) (seqs []eventstream.Seq, err error) {
	body, err := loadBucket(c, lumpKey(log, bucketOf(hash, buckets)))
	for ; len(body) >= entryLen; body = body[entryLen:] {
		if binary.LittleEndian.Uint32(body) == hash {
			if seq := binary.LittleEndian.Uint32(body[4:]); seq != 0 {
				seqs = append(seqs, eventstream.Seq(seq))
			}
		}
	}
	return seqs, err
}

// locate returns the event of an id, with its number in the conversation.
// found is false if there is none. get reads the only event of a piece.
func (h *head) locate(c *conn, id event.ID, hash uint32, get func(piece) (eventstream.Record, error)) (rec eventstream.Record, found bool, err error) {
	for i, x := range h.hashes {
		if x != hash {
			continue
		}
		seq := h.tail.first + eventstream.Seq(i)
		rec, err = get(piece{src: h.log, first: seq, last: seq, at: seq})
		if err != nil || rec.ID == id {
			return rec, err == nil, err
		}
	}
	pieces := h.pieces
	if h.indexed > h.base && (h.known == nil || h.known.has(hash)) {
		h.asked++
		if err := h.knowBuckets(c); err != nil {
			return rec, false, err
		}
		pieces = append(pieces[:len(pieces):len(pieces)], piece{src: h.log, first: h.base + 1, last: h.indexed, at: h.base + 1})
	}
	seqs, err := h.candidates(c, pieces, hash)
	if err != nil {
		return rec, false, err
	}
	for _, one := range seqs {
		if rec, err := get(one); err != nil || rec.ID == id {
			return rec, err == nil, err
		}
	}
	return eventstream.Record{}, false, nil
}

// candidates returns the events of some pieces that may have an id, by its
// hash.
func (h *head) candidates(c *conn, pieces []piece, hash uint32) (found []piece, err error) {
	for i, p := range pieces {
		if slices.ContainsFunc(pieces[:i], func(q piece) bool { return q.src == p.src }) {
			continue // asked already
		}
		n := h.buckets
		if p.src != h.log {
			if n, err = countBuckets(c, p.src); err != nil {
				return nil, err
			}
			if n == 0 {
				return nil, errLostIDs
			}
		}
		seqs, err := lookUp(c, p.src, n, hash)
		if err != nil {
			return nil, err
		}
		for _, seq := range seqs {
			if one, ok := only(pieces, p.src, seq); ok {
				found = append(found, one)
			}
		}
	}
	return found, nil
}

// only returns the piece that holds nothing but an event of a log. ok is
// false if none of the pieces holds it.
func only(pieces []piece, src int64, seq eventstream.Seq) (one piece, ok bool) {
	for _, p := range pieces {
		if p.src == src && p.first <= seq && seq <= p.last {
			return piece{src: src, first: seq, last: seq, at: p.at + seq - p.first}, true
		}
	}
	return piece{}, false
}

// readOne reads the only event of a piece of the conversation.
func (h *head) readOne(c *conn, l *labels, p piece) (rec eventstream.Record, err error) {
	f := newFetcher(c, l)
	why := ""
	err = h.walk(c, p, false, func(r run) (more bool, err error) {
		_, why, err = f.fetch(r.src, r.items(nil), func(got eventstream.Record) bool { rec = got; return true })
		return false, err
	})
	err = firstError(err, f.close())
	if err == nil && why != "" {
		err = fmt.Errorf("event %d of the log: %s: %w", p.first, why, errShape)
	}
	rec.Seq = p.at
	return rec, err
}
