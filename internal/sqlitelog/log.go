// Package sqlitelog looks for lost commits in the write-ahead log of a SQLite
// database, which SQLite itself would pass over in silence.
//
// After a crash the newest commits are in the log only. SQLite reads it up to the
// first frame whose checksum does not match and takes the rest for the remains of
// a torn write. That is right for the last commit and wrong for earlier ones,
// which were synced: if one of them does not read back, acknowledged data is lost,
// and the next writer would overwrite the rest of it
// (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
//
// # Usage
//
//	damage, err := sqlitelog.Check("events.db") // before SQLite opens it
//
// # Concurrency and failure
//
// No process may have the database open meanwhile. Errors come from the file
// system.
package sqlitelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	walHeaderLen  = 32
	walFrameLen   = 24 // in front of each page
	walMagic      = 0x377f0682
	walMaxPage    = 65536
	shmHeaderLen  = 48
	shmVersion    = 3007000
	shmBackfillAt = 96
)

// walState is the result of scanning a log.
type walState struct {
	pageSize  int
	salt      [8]byte
	order     binary.ByteOrder // of the words that checksums add up
	committed int64            // frames of whole commits that read back
	beyond    int              // commits that lie behind the first bad frame
	whole     bool             // the header is intact
	size      int64
}

// Check describes the damage in the log of the database at path, "" if none is
// known. It only reads.
func Check(path string) (damage string, err error) {
	f, err := os.Open(path + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	w, err := scanWAL(f)
	if err != nil {
		return "", err
	}
	shm, err := readShm(path + "-shm")
	if err != nil {
		return "", err
	}
	return w.lost(shm), nil
}

// lost describes the missing part of the log, "" if none is known.
func (w *walState) lost(shm *shmState) string {
	switch {
	case !w.whole && shm != nil && shm.frames > shm.backfilled:
		return "its header does not match its checksum"
	case !w.whole:
		if w.size > walHeaderLen && shm == nil {
			return "its header does not match its checksum"
		}
	case shm != nil && shm.salt == w.salt:
		if w.committed < shm.frames && shm.frames > shm.backfilled {
			return fmt.Sprintf("%d of %d frames read back", w.committed, shm.frames)
		}
	case w.beyond > 1:
		// One commit there may be the torn last one; two cannot.
		return fmt.Sprintf("%d commits lie behind a damaged frame", w.beyond)
	}
	return ""
}

// scanWAL reads a log from its start.
func scanWAL(f *os.File) (*walState, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	w := &walState{size: st.Size(), whole: st.Size() == 0}
	head := make([]byte, walHeaderLen)
	if _, err := io.ReadFull(f, head); err != nil {
		return w, ignoreEOF(err)
	}
	if bytes.Equal(head, make([]byte, walHeaderLen)) {
		w.whole, err = allZero(f) // a crash came before the first write
		return w, err
	}
	sum, ok := w.header(head)
	if !ok {
		return w, nil
	}
	w.whole = true
	frame := make([]byte, walFrameLen+w.pageSize)
	good := true
	for n := int64(1); ; n++ {
		if _, err := io.ReadFull(f, frame); err != nil {
			return w, ignoreEOF(err)
		}
		ours := bytes.Equal(frame[8:16], w.salt[:])
		commit := binary.BigEndian.Uint32(frame[4:]) != 0
		if good {
			sum = w.frameSum(sum, frame)
			good = ours && sum[0] == binary.BigEndian.Uint32(frame[16:]) && sum[1] == binary.BigEndian.Uint32(frame[20:])
		}
		switch {
		case good && commit:
			w.committed = n
		case !good && ours && commit:
			w.beyond++
		}
	}
}

func allZero(r io.Reader) (bool, error) {
	b := make([]byte, 32<<10)
	for {
		n, err := r.Read(b)
		if len(bytes.Trim(b[:n], "\x00")) > 0 {
			return false, nil
		}
		if err != nil {
			return true, ignoreEOF(err)
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// header reads the log's header and returns its checksum.
func (w *walState) header(b []byte) (sum [2]uint32, ok bool) {
	magic := binary.BigEndian.Uint32(b)
	if magic&^1 != walMagic {
		return sum, false
	}
	w.order = binary.LittleEndian
	if magic&1 == 1 {
		w.order = binary.BigEndian
	}
	w.pageSize = int(binary.BigEndian.Uint32(b[8:]))
	copy(w.salt[:], b[16:24])
	sum = w.add(sum, b[:24])
	ok = sum[0] == binary.BigEndian.Uint32(b[24:]) && sum[1] == binary.BigEndian.Uint32(b[28:]) &&
		w.pageSize >= 512 && w.pageSize <= walMaxPage && w.pageSize&(w.pageSize-1) == 0
	return sum, ok
}

// frameSum adds a frame to the running checksum: the first 8 bytes of its
// header, and its page.
func (w *walState) frameSum(sum [2]uint32, frame []byte) [2]uint32 {
	return w.add(w.add(sum, frame[:8]), frame[walFrameLen:])
}

func (w *walState) add(sum [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		sum[0] += w.order.Uint32(b) + sum[1]
		sum[1] += w.order.Uint32(b[4:]) + sum[0]
	}
	return sum
}

// shmState is the index's view of the log. SQLite writes it after a commit was
// synced, and does not sync it: it never claims too much, and after a power cut it
// may claim too little.
type shmState struct {
	frames, backfilled int64
	salt               [8]byte
}

// readShm returns nil when there is no usable index.
func readShm(path string) (*shmState, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, shmBackfillAt+4)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, ignoreEOF(err)
	}
	h := b[:shmHeaderLen]
	native := binary.NativeEndian
	if !bytes.Equal(h, b[shmHeaderLen:2*shmHeaderLen]) || native.Uint32(h) != shmVersion || h[12] != 1 {
		return nil, nil
	}
	var sum [2]uint32
	for p := h[:40]; len(p) > 0; p = p[8:] {
		sum[0] += native.Uint32(p) + sum[1]
		sum[1] += native.Uint32(p[4:]) + sum[0]
	}
	if sum[0] != native.Uint32(h[40:]) || sum[1] != native.Uint32(h[44:]) {
		return nil, nil
	}
	s := &shmState{frames: int64(native.Uint32(h[16:])), backfilled: int64(native.Uint32(b[shmBackfillAt:]))}
	copy(s.salt[:], h[32:40])
	return s, nil
}

// AcceptAll rewrites the checksums in the log of the database at path, so that
// SQLite reads every frame of it, the damaged ones too. It is for copies only.
func AcceptAll(path string) error {
	f, err := os.OpenFile(path+"-wal", os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, walHeaderLen)
	if _, err := io.ReadFull(f, head); err != nil {
		return ignoreEOF(err)
	}
	w := &walState{}
	sum, ok := w.header(head)
	if !ok {
		return nil // without it, frames of this log and of older ones look the same
	}
	frame := make([]byte, walFrameLen+w.pageSize)
	for at := int64(walHeaderLen); ; at += int64(len(frame)) {
		if _, err := f.ReadAt(frame, at); err != nil {
			return ignoreEOF(err)
		}
		if !bytes.Equal(frame[8:16], w.salt[:]) {
			return nil
		}
		sum = w.frameSum(sum, frame)
		binary.BigEndian.PutUint32(frame[16:], sum[0])
		binary.BigEndian.PutUint32(frame[20:], sum[1])
		if _, err := f.WriteAt(frame[16:24], at+16); err != nil {
			return err
		}
	}
}
