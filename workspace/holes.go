package workspace

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// MaxHoles is how many bytes of an archive's files may be holes: they take no space, and
// seconds for each gigabyte to pack.
const MaxHoles = 1 << 30

// maxExtents bounds the search for holes in one file; the rest counts as data.
const maxExtents = 10_000

// Holes returns how many bytes of a file are holes, which file systems do not store. Few
// blocks alone mean nothing: some file systems compress.
func Holes(f *os.File, st fs.FileInfo) (holes int64) {
	const block = 512 // stat(2)
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || st.Size()-sys.Blocks*block < 1<<20 {
		return 0
	}
	fd := int(f.Fd())
	defer func() { _, _ = unix.Seek(fd, 0, unix.SEEK_SET) }()
	at := int64(0)
	for range maxExtents {
		data, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if err != nil {
			if err == unix.ENXIO { // no data follows
				holes += st.Size() - at
			}
			return holes
		}
		holes += data - at
		if at, err = unix.Seek(fd, data, unix.SEEK_HOLE); err != nil || at >= st.Size() {
			return holes
		}
	}
	return holes
}
