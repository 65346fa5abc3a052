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

// Holes returns how many bytes of a file below a directory are holes, which file systems do not
// store; none for a file that cannot be read.
func Holes(root *os.Root, name string) int64 {
	st, err := root.Lstat(name)
	if err != nil || !st.Mode().IsRegular() || !mayHaveHoles(st) {
		return 0
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil || !st.Mode().IsRegular() {
		return 0
	}
	return holes(f, st)
}

// mayHaveHoles reports whether a file has fewer blocks than its size. That alone means nothing: some
// file systems compress.
func mayHaveHoles(st fs.FileInfo) bool {
	const block = 512 // stat(2)
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && st.Size()-sys.Blocks*block >= 1<<20
}

// holes returns how many bytes of an open file are holes.
func holes(f *os.File, st fs.FileInfo) (holes int64) {
	if !mayHaveHoles(st) {
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
