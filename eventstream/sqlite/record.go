package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// entry is an event ready to be stored; only its place is missing.
type entry struct {
	rec    eventstream.Record
	crc    uint32   // of rec without its Seq
	status *string  // the new status, if it carries one
	cost   *float64 // the new cost, if it carries one
}

func newEntry(r eventstream.Record) entry {
	e := entry{rec: r}
	e.crc = checksum(0, string(r.ID), string(r.ParentID), r.Kind, string(r.Source), string(r.Timestamp), []byte(r.JSON))
	e.status, e.cost = eventstream.Changes(r)
	return e
}

// The checksum of an event covers the columns before it in their order, so also
// where the event is stored: neither a flipped bit nor another event in its place is
// accepted.
const (
	selectEvents = "SELECT e.id, e.parent_id, e.kind, e.source, e.timestamp, CAST(e.body AS BLOB), e.conversation, e.seq, e.checksum, e.rowid FROM events e"
	inSegment    = " WHERE e.conversation = ? AND e.seq >= ? AND e.seq <= ?"
	insertEvent  = "INSERT INTO events (id, parent_id, kind, source, timestamp, body, conversation, seq, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (conversation, id) DO NOTHING"
)

// scanEvent reads a row of selectEvents. intact is false when the row does not
// match its checksum.
func scanEvent(r *rows) (key int64, rec eventstream.Record, intact bool) {
	rec = eventstream.Record{
		ID: event.ID(r.text(0)), ParentID: event.ID(r.text(1)), Kind: r.text(2), Source: event.Source(r.text(3)),
		Timestamp: event.Timestamp(r.text(4)), JSON: r.blob(5), Seq: eventstream.Seq(r.int(7)),
	}
	return r.int(6), rec, r.int(8) == int64(checksum(0, r.vals[:8]...)) && r.err == nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum adds columns to a checksum: texts with their lengths, blobs without.
func checksum(crc uint32, columns ...driver.Value) uint32 {
	var short [320]byte
	buf := short[:0]
	for _, c := range columns {
		switch c := c.(type) {
		case int64:
			buf = binary.LittleEndian.AppendUint64(buf, uint64(c))
		case float64:
			buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(c))
		case string:
			buf = append(binary.AppendUvarint(buf, uint64(len(c))), c...)
		case []byte:
			crc = crc32.Update(crc32.Update(crc, castagnoli, buf), castagnoli, c)
			buf = buf[:0]
		}
	}
	return crc32.Update(crc, castagnoli, buf)
}
