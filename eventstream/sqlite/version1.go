package sqlite

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// version1 reads stores of version 1, in which each event has a row of its
// own, by log and seq. The tables segments, labels and dead are those of
// today, and so are the checksums. A record holds:
//
//	checksum  4 bytes, little endian, CRC-32C, as in record.go
//	parent    see uuid.go
//	JSON      the rest
//
// Its kind and source, timestamp and id are columns; an id that is a UUID is
// stored as 16 bytes. Not safe for concurrent use.
type version1 struct {
	c      *conn
	labels *labels
}

// conversation1 is a conversation of version 1; it has no tail.
type conversation1 struct {
	head
	id      event.ConversationID
	created int64
	meta    eventstream.Meta
}

const selectVersion1 = `SELECT c.log, c.base, c.pieces, c.id, c.created, c.meta, c.sum, h.events, h.indexed, h.updated, h.status, h.sum
FROM conversations c LEFT JOIN heads h ON h.log = c.log WHERE `

// after returns the conversation with the lowest log above one, nil when
// there is none. An error means that its rows are damaged.
func (v *version1) after(log int64) (*conversation1, error) {
	return v.load(v.c.query(selectVersion1+"c.log > ? ORDER BY c.log LIMIT 1", log))
}

func (v *version1) load(r *rows) (*conversation1, error) {
	var c *conversation1
	var meta []byte
	var pieces int64
	if r.next() {
		c, pieces, meta = scanVersion1(r)
	}
	if err := r.close(); err != nil || c == nil {
		return nil, err
	}
	if err := json.Unmarshal(meta, &c.meta); err != nil {
		return nil, fmt.Errorf("decode meta data of conversation %s: %w", c.id, err)
	}
	if pieces == 0 && c.base == 0 {
		return c, nil
	}
	return c, c.loadPieces(v.c, pieces)
}

// scanVersion1 reads a row of selectVersion1. The row's error is set when a
// checksum does not match.
func scanVersion1(r *rows) (c *conversation1, pieces int64, meta []byte) {
	if r.vals[7] == nil {
		r.err = fmt.Errorf("a conversation has no head: %w", errShape)
		return nil, 0, nil
	}
	c = &conversation1{id: event.ConversationID(r.text(3)), created: r.int(4)}
	c.log, c.base = r.int(0), eventstream.Seq(r.int(1))
	c.events, c.indexed, c.updated, c.status = eventstream.Seq(r.int(7)), eventstream.Seq(r.int(8)), r.int(9), r.text(10)
	pieces, meta = r.int(2), r.blob(5)
	own := rowSum(c.log, string(c.id), c.created, int64(c.base), pieces, meta)
	head := rowSum(c.log, int64(c.events), int64(c.indexed), c.updated, c.status)
	if r.err == nil && (own != r.int(6) || head != r.int(11)) {
		r.err = fmt.Errorf("the row of a conversation does not match its checksum: %w", errShape)
	}
	return c, pieces, meta
}

const selectRecords1 = "SELECT seq, label, ts, id, rec FROM records WHERE log = ? AND seq >= ? AND seq <= ? ORDER BY seq LIMIT ?"

// page reads the first events of a piece, as many as make a page. id is for
// the error, which tells the first one that is damaged or missing.
func (v *version1) page(id event.ConversationID, p piece) (recs []eventstream.Record, err error) {
	r := v.c.query(selectRecords1, p.src, int64(p.first), int64(p.last), int64(pageEvents))
	size := 0
	for size < pageBytes && r.next() {
		rec, why := v.unpack(r, p.src)
		due := eventstream.Seq(len(recs))
		if why == "" && rec.Seq != p.first+due {
			why = "it is missing"
		}
		if why != "" {
			_ = r.close() // which event it is tells more
			return nil, damaged(id, p.at+due, why)
		}
		recs = append(recs, rec)
		size += len(rec.JSON)
	}
	if err := r.close(); err != nil {
		return nil, unreadable(id, p.at+eventstream.Seq(len(recs)), err)
	}
	if len(recs) == 0 && p.first <= p.last {
		return nil, damaged(id, p.at, "it is missing")
	}
	return recs, nil
}

// unpack makes a record of a row of selectRecords1; why says what is wrong
// with it.
func (v *version1) unpack(r *rows, log int64) (rec eventstream.Record, why string) {
	seq, n, ts, raw := eventstream.Seq(r.int(0)), r.int(1), r.text(2), r.blob(4)
	l, ok := v.labels.get(n)
	if !ok {
		return rec, "its kind is unknown"
	}
	return unpack1(log, seq, l, ts, r.vals[3], raw)
}

func unpack1(log int64, seq eventstream.Seq, l label, ts string, id any, raw []byte) (rec eventstream.Record, why string) {
	if len(raw) < 4 {
		return rec, "it is cut off"
	}
	parent, body, ok := cutID(raw[4:])
	if !ok {
		return rec, "it is cut off"
	}
	rec = eventstream.Record{
		Seq: seq, ID: unpackID1(id), ParentID: parent, Kind: l.kind, Source: l.source,
		Timestamp: event.Timestamp(ts), JSON: body,
	}
	if placeSum(contentSum(rec), log, seq) != binary.LittleEndian.Uint32(raw) {
		return eventstream.Record{}, "its checksum does not match"
	}
	return rec, ""
}

// unpackID1 returns an id as the column id holds it. What it never holds
// gives "", which the checksum shows.
func unpackID1(v any) event.ID {
	switch v := v.(type) {
	case []byte:
		if len(v) == 16 {
			return unpackUUID(v)
		}
	case string:
		return event.ID(v)
	}
	return ""
}
