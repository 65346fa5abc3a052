package sqlite

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// A stored record holds:
//
//	checksum  4 bytes, little endian, CRC-32C
//	log, seq, label  varints
//	timestamp a varint and that many bytes
//	id, parent  see uuid.go
//	JSON      the rest
//
// The checksum covers every field of the record with its length, and where
// the record lies, so that neither a flipped bit nor a record in the wrong
// place reads as good. Log and seq are there for [Salvage].

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packed is a record ready to be stored; only its place is missing.
type packed struct {
	rec    eventstream.Record
	hash   uint32 // of the id
	rest   []byte // from the timestamp on
	crc    uint32
	status *string  // the new execution status, if it carries one
	cost   *float64 // the new cost, if it carries one
}

func pack(r eventstream.Record) packed {
	rest := make([]byte, 0, 16+len(r.Timestamp)+len(r.ID)+len(r.ParentID)+len(r.JSON))
	rest = binary.AppendUvarint(rest, uint64(len(r.Timestamp)))
	rest = append(rest, r.Timestamp...)
	rest = appendID(rest, r.ID)
	rest = appendID(rest, r.ParentID)
	rest = append(rest, r.JSON...)
	r.JSON = rest[len(rest)-len(r.JSON):] // the caller's may change
	p := packed{rec: r, hash: hashID(r.ID), rest: rest, crc: contentSum(r)}
	p.status, p.cost = eventstream.Changes(r)
	return p
}

// maxPrefix is the most that stands in front of rest.
const maxPrefix = 4 + 3*binary.MaxVarintLen64

// prefix makes what stands in front of rest in a record that goes to log and
// seq.
func (p *packed) prefix(b []byte, log int64, seq eventstream.Seq, label int64) []byte {
	b = binary.LittleEndian.AppendUint32(b, placeSum(p.crc, log, seq))
	b = binary.AppendUvarint(b, uint64(log))
	b = binary.AppendUvarint(b, uint64(seq))
	return binary.AppendUvarint(b, uint64(label))
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

// prefix is what stands in front of a stored record.
type prefix struct {
	crc   uint32
	log   int64
	seq   eventstream.Seq
	label int64
}

func cutPrefix(b []byte) (p prefix, rest []byte, ok bool) {
	if len(b) < 4 {
		return p, nil, false
	}
	p.crc = binary.LittleEndian.Uint32(b)
	b = b[4:]
	for _, v := range [...]*int64{&p.log, (*int64)(&p.seq), &p.label} {
		n, w := binary.Uvarint(b)
		if w <= 0 {
			return p, nil, false
		}
		*v, b = int64(n), b[w:]
	}
	return p, b, true
}

// unpack makes a record of its stored form; why says what is wrong with it.
// The JSON is not copied. resolve gives the label of a number.
func unpack(b []byte, resolve func(int64) (label, bool)) (p prefix, r eventstream.Record, why string) {
	p, rest, ok := cutPrefix(b)
	if !ok {
		return p, r, "it is cut off"
	}
	l, ok := resolve(p.label)
	if !ok {
		return p, r, "its kind is unknown"
	}
	n, w := binary.Uvarint(rest)
	if w <= 0 || n > uint64(len(rest)-w) {
		return p, r, "it is cut off"
	}
	ts, rest := rest[w:w+int(n)], rest[w+int(n):]
	id, rest, ok := cutID(rest)
	if !ok {
		return p, r, "it is cut off"
	}
	parent, rest, ok := cutID(rest)
	if !ok {
		return p, r, "it is cut off"
	}
	r = eventstream.Record{
		Seq: p.seq, ID: id, ParentID: parent, Kind: l.kind, Source: l.source,
		Timestamp: event.Timestamp(ts), JSON: rest,
	}
	if placeSum(contentSum(r), p.log, p.seq) != p.crc {
		return p, eventstream.Record{}, "its checksum does not match"
	}
	return p, r, ""
}

// rowSum is the checksum of the columns of a small row.
func rowSum(parts ...any) int64 {
	var buf [256]byte
	b, sum := buf[:0], uint32(0)
	for _, p := range parts {
		switch p := p.(type) {
		case int64:
			b = binary.LittleEndian.AppendUint64(append(b, 'i'), uint64(p))
		case string:
			b = append(binary.AppendUvarint(append(b, 's'), uint64(len(p))), p...)
		case []byte:
			b = binary.AppendUvarint(append(b, 's'), uint64(len(p)))
			sum = crc32.Update(crc32.Update(sum, castagnoli, b), castagnoli, p)
			b = buf[:0]
		}
	}
	return int64(crc32.Update(sum, castagnoli, b))
}

// sealed puts a checksum of key and body in front of the body, which starts
// with 4 bytes left free for it.
func sealed(key int64, body []byte) []byte {
	binary.LittleEndian.PutUint32(body, bodySum(key, body[4:]))
	return body
}

// unsealed returns what was sealed, without the checksum.
func unsealed(key int64, body []byte) (rest []byte, ok bool) {
	if len(body) < 4 || binary.LittleEndian.Uint32(body) != bodySum(key, body[4:]) {
		return nil, false
	}
	return body[4:], true
}

func bodySum(key int64, b []byte) uint32 {
	return placeSum(crc32.Checksum(b, castagnoli), key, 0)
}
