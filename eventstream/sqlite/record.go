package sqlite

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// A rec column holds:
//
//	checksum  4 bytes, little endian, CRC-32C
//	parent    a varint: 0 none, 1 a UUID of 16 bytes follows, n+2 n bytes of text follow
//	JSON      the rest
//
// The checksum covers every field of the record with its length, and where
// the record lies, so that neither a flipped bit nor a record in the wrong
// place reads as good.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packed is a record ready to be inserted; only its place is missing.
type packed struct {
	kind   string
	source event.Source
	ts     string
	key    event.ID
	id     any // []byte or string, as stored
	rec    []byte
	crc    uint32
	status *string // the new execution status, if it carries one
}

func pack(r eventstream.Record) packed {
	rec := make([]byte, 4, 4+17+len(r.ParentID)+len(r.JSON))
	rec = appendParent(rec, r.ParentID)
	rec = append(rec, r.JSON...)
	p := packed{
		kind: r.Kind, source: r.Source, ts: string(r.Timestamp),
		key: r.ID, id: packID(r.ID), rec: rec, crc: contentSum(r),
	}
	if r.Kind == kindStateUpdate {
		p.status = statusOf(r.JSON)
	}
	return p
}

// place writes the final checksum of a record that goes to log and seq.
func (p *packed) place(log int64, seq eventstream.Seq) []byte {
	binary.LittleEndian.PutUint32(p.rec, placeSum(p.crc, log, seq))
	return p.rec
}

func contentSum(r eventstream.Record) uint32 {
	var b [320]byte
	h := b[:0]
	for _, s := range [...]string{string(r.ID), string(r.ParentID), r.Kind, string(r.Source), string(r.Timestamp)} {
		h = binary.AppendUvarint(h, uint64(len(s)))
		h = append(h, s...)
	}
	return crc32.Update(crc32.Checksum(h, castagnoli), castagnoli, r.JSON)
}

func placeSum(crc uint32, log int64, seq eventstream.Seq) uint32 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(log))
	binary.LittleEndian.PutUint64(b[8:], uint64(seq))
	return crc32.Update(crc, castagnoli, b[:])
}

// unpack makes a record from its columns; why says what is wrong with it.
// seq is its number in log.
func unpack(log int64, seq eventstream.Seq, l label, known bool, ts string, id any, rec []byte) (r eventstream.Record, why string) {
	if !known {
		return r, "its kind is unknown"
	}
	if len(rec) < 5 {
		return r, "it is cut off"
	}
	parent, body, ok := cutParent(rec[4:])
	if !ok {
		return r, "it is cut off"
	}
	r = eventstream.Record{
		Seq: seq, ID: unpackID(id), ParentID: parent, Kind: l.kind, Source: l.source,
		Timestamp: event.Timestamp(ts), JSON: body,
	}
	if placeSum(contentSum(r), log, seq) != binary.LittleEndian.Uint32(rec) {
		return eventstream.Record{}, "its checksum does not match"
	}
	return r, ""
}

func appendParent(b []byte, id event.ID) []byte {
	if id == "" {
		return append(b, 0)
	}
	if u, ok := packUUID(string(id)); ok {
		return append(append(b, 1), u[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(id))+2)
	return append(b, id...)
}

func cutParent(b []byte) (id event.ID, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 {
		return "", nil, false
	}
	b = b[w:]
	switch {
	case n == 0:
		return "", b, true
	case n == 1 && len(b) >= 16:
		return unpackUUID(b[:16]), b[16:], true
	case n >= 2 && n-2 <= uint64(len(b)):
		return event.ID(b[:n-2]), b[n-2:], true
	}
	return "", nil, false
}

// packID stores a UUID in its 16 bytes and any other id as text.
func packID(id event.ID) any {
	if u, ok := packUUID(string(id)); ok {
		return u[:]
	}
	return string(id)
}

func unpackID(v any) event.ID {
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

const hexDigits = "0123456789abcdef"

// packUUID packs the lower-case dashed form only, because what it packs must
// come back as it was.
func packUUID(s string) (u [16]byte, ok bool) {
	if len(s) != 36 {
		return u, false
	}
	j := 0
	for i := range 36 {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return u, false
			}
			continue
		}
		var d byte
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		default:
			return u, false
		}
		u[j/2] = u[j/2]<<4 | d
		j++
	}
	return u, true
}

func unpackUUID(u []byte) event.ID {
	var b [36]byte
	j := 0
	for i, x := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b[j] = '-'
			j++
		}
		b[j], b[j+1] = hexDigits[x>>4], hexDigits[x&15]
		j += 2
	}
	return event.ID(b[:])
}

// rowSum is the checksum of the columns of a small row.
func rowSum(parts ...any) int64 {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int64:
			b = binary.LittleEndian.AppendUint64(append(b, 'i'), uint64(p))
		case string:
			b = append(binary.AppendUvarint(append(b, 's'), uint64(len(p))), p...)
		case []byte:
			b = append(binary.AppendUvarint(append(b, 's'), uint64(len(p))), p...)
		}
	}
	return int64(crc32.Checksum(b, castagnoli))
}
