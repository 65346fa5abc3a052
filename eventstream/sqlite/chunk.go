package sqlite

import (
	"encoding/binary"

	"github.com/deft-dev/deft/eventstream"
)

// A chunk is a row with records of any conversations in the order of their
// arrival, each behind a varint of its length. A record that was removed
// leaves the length 0, so that the others keep their places.

// maxChunk is the most a chunk of several records holds: what fits into one
// page of the database. A larger record has a chunk of its own.
const maxChunk = 4050

// spot is where a record is, and its label.
type spot struct {
	chunk int64
	slot  int // of the chunk's records
	label int64
}

// packer fills chunks. What it holds is lost when the transaction is undone.
type packer struct {
	next  int64 // number of the chunk that is filled; 0 when it is not known
	buf   []byte
	slots int
}

// start finds where new chunks go. It costs nothing while no other process
// writes.
func (k *packer) start(c *conn) error {
	if k.next > 0 {
		return nil
	}
	n, _, err := c.number("SELECT coalesce(max(chunk), 0) FROM chunks")
	k.next = n + 1
	return err
}

func (k *packer) reset() { *k = packer{buf: k.buf[:0]} }

// add stores a record, at the latest with the next flush.
func (k *packer) add(c *conn, p *packed, log int64, seq eventstream.Seq, label int64) (spot, error) {
	most := len(p.rest) + maxPrefix + binary.MaxVarintLen32
	if k.slots > 0 && len(k.buf)+most > maxChunk {
		if err := k.flush(c); err != nil {
			return spot{}, err
		}
	}
	var pre [maxPrefix]byte
	head := p.prefix(pre[:0], log, seq, label)
	k.buf = binary.AppendUvarint(k.buf, uint64(len(head)+len(p.rest)))
	k.buf = append(k.buf, head...)
	k.buf = append(k.buf, p.rest...)
	k.slots++
	return spot{chunk: k.next, slot: k.slots - 1, label: label}, nil
}

// flush writes the chunk that is filled.
func (k *packer) flush(c *conn) error {
	if k.slots == 0 {
		return nil
	}
	_, err := c.exec("INSERT INTO chunks (chunk, recs) VALUES (?, ?)", k.next, k.buf)
	k.next++
	k.slots = 0
	if k.buf = k.buf[:0]; cap(k.buf) > 16*maxChunk {
		k.buf = nil // one large event shall not be remembered for ever
	}
	return err
}

// cutRecord takes the first record off a chunk. It is empty when it was
// removed.
func cutRecord(b []byte) (rec, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, false
	}
	return b[w : w+int(n)], b[w+int(n):], true
}

// recordAt returns a record of a chunk, nil if there is none.
func recordAt(chunk []byte, slot int) []byte {
	for ; len(chunk) > 0; slot-- {
		rec, rest, ok := cutRecord(chunk)
		if !ok || slot == 0 {
			return rec
		}
		chunk = rest
	}
	return nil
}

// without returns a copy of a chunk without some of its records, and whether
// any is left. ok is false for a damaged chunk.
func without(chunk []byte, slots map[int]bool) (out []byte, left, ok bool) {
	for slot := 0; len(chunk) > 0; slot++ {
		var rec []byte
		if rec, chunk, ok = cutRecord(chunk); !ok {
			return nil, true, false
		}
		if slots[slot] {
			rec = nil
		}
		left = left || len(rec) > 0
		out = append(binary.AppendUvarint(out, uint64(len(rec))), rec...)
	}
	return out, left, true
}
