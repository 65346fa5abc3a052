package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// index is Git's index of files, in the order of their paths.
type index struct {
	entries []entry
	written time.Time
}

// entry is one file as it was when its content was read.
type entry struct {
	path                     string
	ctimeSec, ctimeNano      uint32
	mtimeSec, mtimeNano      uint32
	ino, mode, uid, gid, len uint32
}

// errIndex says that an index cannot be read here; Git may still read it.
var errIndex = errors.New("this index of git is of an unknown form")

// Sizes of the parts of an index (gitformat-index(5), versions 2 and 3).
const (
	headerSize = 12
	fixedSize  = 62
	sumSize    = 20
	extended   = 0x4000
)

// readIndex reads an index; one that does not exist is empty.
func readIndex(path string) (index, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return index{}, nil
	}
	if err != nil {
		return index{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return index{}, err
	}
	data := make([]byte, info.Size())
	if _, err := f.ReadAt(data, 0); err != nil {
		return index{}, err
	}
	x, err := parseIndex(data)
	x.written = info.ModTime()
	return x, err
}

func parseIndex(data []byte) (index, error) {
	if len(data) < headerSize+sumSize || string(data[:4]) != "DIRC" {
		return index{}, errIndex
	}
	if v := binary.BigEndian.Uint32(data[4:]); v != 2 && v != 3 {
		return index{}, fmt.Errorf("%w: version %d", errIndex, v)
	}
	n := int(binary.BigEndian.Uint32(data[8:]))
	rest := data[headerSize : len(data)-sumSize]
	if n > len(rest)/fixedSize {
		return index{}, errIndex
	}
	paths := string(rest) // the paths are parts of it
	x := index{entries: make([]entry, n)}
	at := 0
	for i := range x.entries {
		if len(rest)-at < fixedSize {
			return index{}, errIndex
		}
		b := rest[at:]
		u := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
		x.entries[i] = entry{
			ctimeSec: u(0), ctimeNano: u(1), mtimeSec: u(2), mtimeNano: u(3), ino: u(5), mode: u(6), uid: u(7), gid: u(8), len: u(9),
		}
		name := fixedSize
		if binary.BigEndian.Uint16(b[60:])&extended != 0 {
			name += 2
		}
		if name >= len(b) {
			return index{}, errIndex
		}
		end := bytes.IndexByte(b[name:], 0)
		if end < 0 {
			return index{}, errIndex
		}
		x.entries[i].path = paths[at+name : at+name+end]
		at += (name + end + 8) &^ 7
	}
	return x, nil
}

// same reports whether a file is unchanged since the index was written. Git
// decides about files reported as changed: files that were written at the same
// time as the index have to be read again.
func (e *entry) same(st *unix.Stat_t, written time.Time) bool {
	mode := uint32(unix.S_IFLNK)
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		mode = unix.S_IFREG | 0o644
		if st.Mode&0o100 != 0 {
			mode |= 0o111
		}
	}
	return e.mode == mode && e.len == uint32(st.Size) && e.ino == uint32(st.Ino) && e.uid == st.Uid && e.gid == st.Gid &&
		int64(e.mtimeSec) == st.Mtim.Sec&0xffffffff && int64(e.mtimeNano) == st.Mtim.Nsec &&
		int64(e.ctimeSec) == st.Ctim.Sec&0xffffffff && int64(e.ctimeNano) == st.Ctim.Nsec &&
		st.Mtim.Sec < written.Unix()
}
