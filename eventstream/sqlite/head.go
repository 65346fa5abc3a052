package sqlite

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// head is what reading and writing a conversation needs to know about it.
type head struct {
	log     int64
	base    eventstream.Seq // events shared with other conversations
	events  eventstream.Seq
	indexed eventstream.Seq // own events up to this one are in the table ids
	updated int64
	status  string
	cost    float64
	pieces  []piece
	tail    lump     // the unfinished one
	hashes  []uint32 // of the ids of the tail's events
	buckets int64    // of its log in the table ids, 0 when not known
	known   *filter  // of the log's indexed ids, if there is one; the writer's only
	asked   int64    // how often a filter would have helped
}

// piece is an unbroken run of events in one log: first..last there are
// at..at+last-first in the conversation.
type piece struct {
	src         int64
	first, last eventstream.Seq
	at          eventstream.Seq
}

func (p piece) end() eventstream.Seq { return p.at + p.last - p.first }

// own returns the conversation's own events as a piece.
func (h *head) own() piece {
	return piece{src: h.log, first: h.base + 1, last: h.events, at: h.base + 1}
}

// cut returns the pieces that hold the events first..last, clipped to them.
func (h *head) cut(first, last eventstream.Seq) []piece {
	var out []piece
	clip := func(p piece) {
		lo, hi := max(first, p.at), min(last, p.end())
		if lo <= hi {
			shift := p.first - p.at
			out = append(out, piece{src: p.src, first: lo + shift, last: hi + shift, at: lo})
		}
	}
	for _, p := range h.pieces {
		clip(p)
	}
	clip(h.own())
	return out
}

// tailStep is what the length of a stored tail is a multiple of: a row that
// keeps its length is overwritten in place.
const tailStep = 128

// packTail makes the column tail: the lump, the hashes, and zeros.
func (h *head) packTail(b []byte) []byte {
	if len(h.tail.spots) == 0 {
		return b
	}
	b = h.tail.appendTo(b)
	for _, x := range h.hashes {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	for len(b)%tailStep > 0 {
		b = append(b, 0)
	}
	return b
}

func (h *head) parseTail(b []byte) bool {
	h.tail.first = h.events + 1
	if len(b) == 0 {
		return true
	}
	l, rest, ok := parseLump(lumpOf(h.events), b)
	if !ok || l.last() != h.events || len(rest) < 4*len(l.spots) {
		return false
	}
	h.tail = l
	for i := range l.spots {
		h.hashes = append(h.hashes, binary.LittleEndian.Uint32(rest[4*i:]))
	}
	return true
}

func (h *head) sum(tail []byte) int64 {
	return rowSum(h.log, int64(h.events), int64(h.indexed), h.updated, h.status, int64(math.Float64bits(h.cost)), tail)
}

const (
	headColumns = "SELECT c.log, c.base, c.pieces, c.id, c.created, c.sum, h.events, h.indexed, h.updated, h.status, h.tail, h.sum, h.cost"
	headTables  = " FROM conversations c LEFT JOIN heads h ON h.log = c.log"
	selectHead  = headColumns + headTables + " WHERE c.id = ?"
)

// loadHead reads a head; nil without an error when there is none.
func loadHead(c *conn, id event.ConversationID) (*head, error) {
	r := c.query(selectHead, string(id))
	var h *head
	var n int64
	if r.next() {
		h, n = scanHead(r)
	}
	if err := r.close(); err != nil || h == nil {
		return nil, err
	}
	if n > 0 {
		if err := h.loadPieces(c, n); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// scanHead reads the columns of selectHead and returns how many pieces there
// are to load. The row's error is set when a checksum does not match.
func scanHead(r *rows) (h *head, pieces int64) {
	if r.vals[6] == nil {
		r.err = fmt.Errorf("a conversation has no head: %w", errShape)
		return nil, 0
	}
	pieces = r.int(2)
	h = &head{
		log: r.int(0), base: eventstream.Seq(r.int(1)), events: eventstream.Seq(r.int(6)),
		indexed: eventstream.Seq(r.int(7)), updated: r.int(8), status: r.text(9),
		cost: math.Float64frombits(uint64(r.int(12))),
	}
	tail := r.blob(10)
	if r.int(5) != conversationSum(h.log, r.text(3), r.int(4), r.int(1), pieces) || r.int(11) != h.sum(tail) || !h.parseTail(tail) {
		r.err = fmt.Errorf("the row of a conversation does not match its checksum: %w", errShape)
	}
	return h, pieces
}

func conversationSum(log int64, id string, created, base, pieces int64) int64 {
	return rowSum(log, id, created, base, pieces)
}

func (h *head) loadPieces(c *conn, n int64) error {
	at := eventstream.Seq(1)
	r := c.query("SELECT ord, src, first, last, at, sum FROM segments WHERE log = ? ORDER BY ord", h.log)
	for r.next() {
		p := piece{src: r.int(1), first: eventstream.Seq(r.int(2)), last: eventstream.Seq(r.int(3)), at: eventstream.Seq(r.int(4))}
		if p.sum(h.log, r.int(0)) != r.int(5) || p.at != at {
			r.err = fmt.Errorf("a segment does not match its checksum: %w", errShape)
			break
		}
		at = p.end() + 1
		h.pieces = append(h.pieces, p)
	}
	if err := r.close(); err != nil {
		return err
	}
	if int64(len(h.pieces)) != n || at != h.base+1 {
		return fmt.Errorf("a fork has lost segments: %w", errShape)
	}
	return nil
}

func (p piece) sum(log, ord int64) int64 {
	return rowSum(log, ord, p.src, int64(p.first), int64(p.last), int64(p.at))
}

// head returns the writer's head of a conversation, NotFound if there is none.
func (w *writer) head(id event.ConversationID) (*head, error) {
	if h := w.heads[id]; h != nil {
		return h, nil
	}
	h, err := loadHead(w.c, id)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, notFound(id)
	}
	w.heads[id] = h
	return h, nil
}
