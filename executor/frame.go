package executor

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// A record is framed, little endian, as
//
//	0   length of the body (4 bytes)
//	4   crc32c of the body
//	8   crc32c of the 8 bytes before
//	12  body: kind (1 byte), length of the id (1 byte), id, payload
//
// The length has a checksum of its own, so that a damaged length is never
// taken for a record torn by a crash. Payloads are JSON, in which the bytes of
// a frame's head cannot occur: a length below maxRecord has a top byte of at
// most 8, a control character. So the search for the next frame behind a
// damaged one never finds a frame that a tool's output has forged.
const frameHead = 12

type recordKind uint8

const (
	recordStarted  recordKind = iota + 1
	recordObserved            // finished; the payload is the observation
	recordFailed              // finished; the payload is a failure
	recordAcked
)

type record struct {
	kind    recordKind
	id      event.ID
	payload []byte
}

// frame returns the record's bytes. An id is at most MaxIDLength long.
func (r record) frame() ([]byte, error) {
	n := 2 + len(r.id) + len(r.payload)
	if n > maxRecord {
		return nil, fault.New(fault.Limit, fmt.Sprintf("a result of %d MB is too large for the journal", n>>20))
	}
	b := make([]byte, frameHead, frameHead+n)
	b = append(b, byte(r.kind), byte(len(r.id)))
	b = append(b, r.id...)
	b = append(b, r.payload...)
	binary.LittleEndian.PutUint32(b, uint32(n))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[frameHead:], castagnoli))
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[:8], castagnoli))
	return b, nil
}

// bodyLength returns the length in a frame's head; ok is false if it is damaged.
func bodyLength(head []byte) (n int64, ok bool) {
	if crc32.Checksum(head[:8], castagnoli) != binary.LittleEndian.Uint32(head[8:]) {
		return 0, false
	}
	n = int64(binary.LittleEndian.Uint32(head))
	return n, n >= 2 && n <= maxRecord
}

// parse takes a frame's body apart; head is the frame's.
func parse(head, body []byte) (record, bool) {
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return record{}, false
	}
	r := record{kind: recordKind(body[0])}
	idLen := int(body[1])
	if r.kind < recordStarted || r.kind > recordAcked || idLen == 0 || idLen > MaxIDLength || 2+idLen > len(body) {
		return record{}, false
	}
	r.id, r.payload = event.ID(body[2:2+idLen]), body[2+idLen:]
	return r, true
}

// readRecord reads the frame of the given size at off.
func readRecord(f io.ReaderAt, off, size int64) (record, error) {
	b := make([]byte, size)
	if _, err := f.ReadAt(b, off); err != nil {
		return record{}, fmt.Errorf("read the journal: %w", err)
	}
	if n, ok := bodyLength(b); ok && n == size-frameHead {
		if r, ok := parse(b[:frameHead], b[frameHead:]); ok {
			return r, nil
		}
	}
	return record{}, fault.New(fault.Corrupt, "a recorded result is damaged")
}

// scan calls apply for each whole record between start and size. It returns the
// end of the last one and whether anything but a torn last record was damaged.
// Errors come from reading.
func scan(f io.ReaderAt, start, size int64, apply func(off, size int64, r record)) (end int64, damaged bool, err error) {
	off, end := start, start
	if off >= size {
		return end, false, nil
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f, off, size-off), 64<<10)
	for off < size {
		r, n, fate, err := next(in, size-off)
		if err != nil {
			return 0, false, fmt.Errorf("read the journal: %w", err)
		}
		switch fate {
		case frameWhole:
			apply(off, n, r)
			off += n
			end = off
		case frameTorn:
			return end, damaged, nil
		case frameDamaged:
			damaged = true
			off, err = resync(f, off+1, size)
			if err != nil {
				return 0, false, fmt.Errorf("read the journal: %w", err)
			}
			in.Reset(io.NewSectionReader(f, off, size-off))
		}
	}
	return end, damaged, nil
}

type frameFate uint8

const (
	frameWhole frameFate = iota
	frameTorn
	frameDamaged
)

// next reads one frame; left is how many bytes there are.
func next(in *bufio.Reader, left int64) (record, int64, frameFate, error) {
	if left < frameHead {
		return record{}, 0, frameTorn, nil
	}
	head := make([]byte, frameHead)
	if _, err := io.ReadFull(in, head); err != nil {
		return record{}, 0, 0, err
	}
	n, ok := bodyLength(head)
	if !ok {
		return record{}, 0, frameDamaged, nil
	}
	if frameHead+n > left {
		return record{}, 0, frameTorn, nil
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(in, body); err != nil {
		return record{}, 0, 0, err
	}
	r, ok := parse(head, body)
	if !ok {
		return record{}, 0, frameDamaged, nil
	}
	return r, frameHead + n, frameWhole, nil
}

// resync returns the offset of the next whole frame at or behind off, or size.
func resync(f io.ReaderAt, off, size int64) (int64, error) {
	window := make([]byte, 64<<10)
	for off+frameHead <= size {
		n, err := f.ReadAt(window[:min(int64(len(window)), size-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if n < frameHead {
			break
		}
		for i := 0; i+frameHead <= n; i++ {
			body, ok := bodyLength(window[i : i+frameHead])
			if ok && off+int64(i)+frameHead+body <= size {
				if _, err := readRecord(f, off+int64(i), frameHead+body); err == nil {
					return off + int64(i), nil
				}
			}
		}
		off += int64(n - frameHead + 1)
	}
	return size, nil
}
