package executor

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// The journal begins with a header of headerSize bytes, little endian:
//
//	 0  magic "deftjrn1"
//	 8  proof (1 byte), length of the boot id (1 byte)
//	10  boot id, zero padded to 38 bytes
//	48  start of the records (8 bytes)
//	56  limit of the records, 0 for none (8 bytes)
//	64  crc32c of the bytes before
//
// It is overwritten in place by a write within one page, which a killed process
// has completed or not begun. A crash of the machine may leave any content, but
// then the boot id differs or the checksum is wrong.
const (
	headerSize  = 68
	headerMagic = "deftjrn1"
	maxBootID   = 38
)

// proof is the meaning of a missing id.
type proof uint8

const (
	proofFresh    proof = iota // nothing yet: the file may replace a lost one
	proofComplete              // it was never started
	proofLost                  // nothing, permanently: records may be missing
)

type header struct {
	proof proof
	boot  string // kernel boot id when the file was last opened
	start int64  // offset of the first record
	limit int64  // records behind it are void; only during compaction
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (h header) encode() []byte {
	b := make([]byte, headerSize)
	copy(b, headerMagic)
	b[8] = byte(h.proof)
	b[9] = byte(copy(b[10:10+maxBootID], h.boot))
	binary.LittleEndian.PutUint64(b[48:], uint64(h.start))
	binary.LittleEndian.PutUint64(b[56:], uint64(h.limit))
	binary.LittleEndian.PutUint32(b[64:], crc32.Checksum(b[:64], castagnoli))
	return b
}

// readHeader returns the header of f; ok is false if it is damaged.
func readHeader(f io.ReaderAt) (h header, ok bool) {
	b := make([]byte, headerSize)
	if _, err := f.ReadAt(b, 0); err != nil {
		return header{}, false
	}
	if string(b[:8]) != headerMagic || crc32.Checksum(b[:64], castagnoli) != binary.LittleEndian.Uint32(b[64:]) {
		return header{}, false
	}
	h = header{
		proof: proof(b[8]),
		boot:  string(b[10 : 10+min(b[9], maxBootID)]),
		start: int64(binary.LittleEndian.Uint64(b[48:])),
		limit: int64(binary.LittleEndian.Uint64(b[56:])),
	}
	return h, h.proof <= proofLost && h.start >= headerSize && h.limit >= 0
}

func (j *Journal) writeHeader() error {
	if j.file == nil {
		return nil
	}
	if _, err := j.file.WriteAt(j.head.encode(), 0); err != nil {
		return storageError("write the journal's header", err)
	}
	return nil
}
