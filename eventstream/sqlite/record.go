package sqlite

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is an event ready to be stored; only its seq is missing.
type entry struct {
	rec    eventstream.Record
	crc    uint32   // of rec without its Seq
	status *string  // the new status, if it carries one
	cost   *float64 // the new cost, if it carries one
}

func newEntry(r eventstream.Record) entry {
	e := entry{rec: r, crc: contentSum(r)}
	e.status, e.cost = eventstream.Changes(r)
	return e
}

// contentSum covers every field with its length but Seq.
func contentSum(r eventstream.Record) uint32 {
	var b [320]byte
	h := b[:0]
	for _, s := range [...]string{string(r.ID), string(r.ParentID), r.Kind, string(r.Source), string(r.Timestamp)} {
		h = binary.AppendUvarint(h, uint64(len(s)))
		h = append(h, s...)
	}
	return crc32.Update(crc32.Checksum(h, castagnoli), castagnoli, r.JSON)
}

// eventSum is the checksum of an event. It covers where the event is stored,
// so that neither a flipped bit nor another event in its place is accepted.
func eventSum(crc uint32, key int64, seq eventstream.Seq) int64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(key))
	binary.LittleEndian.PutUint64(b[8:], uint64(seq))
	return int64(crc32.Update(crc, castagnoli, b[:]))
}

const (
	eventColumns = "e.conversation, e.seq, e.id, e.parent_id, e.kind, e.source, e.timestamp, e.checksum, CAST(e.body AS BLOB)"
	selectEvents = "SELECT " + eventColumns + " FROM events e"
	inSegment    = " WHERE e.conversation = ? AND e.seq >= ? AND e.seq <= ?"
	insertEvent  = "INSERT INTO events (conversation, seq, id, parent_id, kind, source, timestamp, checksum, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (conversation, id) DO NOTHING"
)

// scanEvent reads a row of eventColumns. intact is false when the row does
// not match its checksum.
func scanEvent(r *rows) (key int64, rec eventstream.Record, intact bool) {
	key = r.int(0)
	rec = eventstream.Record{
		Seq: eventstream.Seq(r.int(1)), ID: event.ID(r.text(2)), ParentID: event.ID(r.text(3)), Kind: r.text(4),
		Source: event.Source(r.text(5)), Timestamp: event.Timestamp(r.text(6)), JSON: r.blob(8),
	}
	return key, rec, r.int(7) == eventSum(contentSum(rec), key, rec.Seq) && r.err == nil
}

// rowSum is the checksum of the columns of a row.
func rowSum(columns ...any) int64 {
	var buf bytes.Buffer
	for _, c := range columns {
		switch c := c.(type) {
		case int64:
			buf.Write(binary.LittleEndian.AppendUint64(buf.AvailableBuffer(), uint64(c)))
		case float64:
			buf.Write(binary.LittleEndian.AppendUint64(buf.AvailableBuffer(), math.Float64bits(c)))
		case string:
			buf.Write(binary.AppendUvarint(buf.AvailableBuffer(), uint64(len(c))))
			buf.WriteString(c)
		}
	}
	return int64(crc32.Checksum(buf.Bytes(), castagnoli))
}
