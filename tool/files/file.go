package files

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// File is a regular file as it was read.
type File struct {
	Real string // path without symbolic links
	Raw  []byte
	stat unix.Stat_t
}

// ErrBinary is the error for a file that is not text.
var ErrBinary = errors.New("not a text file")

// Links is the number of the file's names.
func (f *File) Links() int { return int(f.stat.Nlink) }

// Remarks are sentences about a file that was changed, for behind another sentence: on its other
// names, and on another program that had changed it.
func (f *File) Remarks(changed bool) (text string) {
	if n := f.Links(); n > 1 {
		text = fmt.Sprintf(" It had %d other hard links; they keep the old content.", n-1)
	}
	if changed {
		text += " Another program had changed it since you last saw it."
	}
	return text
}

// Read reads a regular file of at most limit bytes. It never blocks: only
// regular files are opened, and opening does not wait even if the file was
// replaced in between.
func (x *Files) Read(path string, limit int64) (*File, error) {
	real, err := RealPath(path)
	if err != nil {
		return nil, err
	}
	f := &File{Real: real}
	if err := unix.Lstat(real, &f.stat); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if err := regular(path, &f.stat); err != nil {
		return nil, err
	}
	fd, err := unix.Open(real, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // only read
	if err := unix.Fstat(fd, &f.stat); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if err := regular(path, &f.stat); err != nil {
		return nil, err
	}
	if err := opened(fd, path); err != nil {
		return nil, err
	}
	if f.stat.Size > limit {
		return nil, TooLarge(path, f.stat.Size, limit)
	}
	f.Raw, err = readAll(fd, path, f.stat.Size, limit)
	return f, err
}

// opened checks which file was really opened, in case a directory of the path was
// replaced by a link after the path had been checked.
func opened(fd int, path string) error {
	var buf [unix.PathMax]byte
	n, err := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd), buf[:])
	if err != nil {
		return nil // there is no /proc, so nothing to protect
	}
	real := string(buf[:n])
	if why := Forbidden(real); why != "" {
		return Refuse("%s: %s", path, why)
	}
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) == nil && int64(st.Type) == unix.PROC_SUPER_MAGIC && !strings.HasPrefix(real, "/proc/") {
		return Refuse("%s is in a process file system outside of /proc, which is not shown by this tool", path)
	}
	return nil
}

// readAll reads to the end, and fails if there are more than limit bytes: files
// that the kernel generates have a size of 0.
func readAll(fd int, path string, size, limit int64) ([]byte, error) {
	buf := make([]byte, 0, max(size, 512)+1)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return buf, nil
		}
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return nil, TooLarge(path, int64(len(buf)), limit)
		}
	}
}

// TooLarge refuses a file for its size.
func TooLarge(path string, size, limit int64) error {
	return Refuse("%s has %d bytes; this tool takes files up to %d bytes. Use the terminal (head, tail, sed, grep) for the part you need.",
		path, size, limit)
}

// regular refuses everything that is not a regular file.
func regular(path string, st *unix.Stat_t) error {
	kind := ""
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		return Refuse("%s is a directory; this command is for files", path)
	case unix.S_IFIFO:
		kind = "a named pipe"
	case unix.S_IFSOCK:
		kind = "a socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		kind = "a device"
	default:
		kind = "not a regular file"
	}
	return Refuse("%s is %s; this tool only opens files and directories", path, kind)
}

// ReadText reads a text file.
func (x *Files) ReadText(path string) (*File, Document, error) {
	f, err := x.Read(path, x.cfg.MaxFileSize)
	if err != nil {
		return nil, Document{}, err
	}
	d, ok := Decode(f.Raw)
	if !ok {
		return f, d, ErrBinary
	}
	return f, d, nil
}

// maxSeen bounds the files whose last seen content is remembered.
const maxSeen = 1000

// seen remembers which content of files the model saw last, to detect that
// another program has changed one since.
type seen struct {
	mu   sync.Mutex
	sums map[string][sha256.Size]byte
}

func newSeen() *seen { return &seen{sums: make(map[string][sha256.Size]byte)} }

// note records that the model has seen this content.
func (s *seen) note(real string, raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sums) >= maxSeen {
		clear(s.sums) // costs some warnings, once in a long while
	}
	s.sums[real] = sha256.Sum256(raw)
}

// changed reports whether the model has seen other content than this.
func (s *seen) changed(real string, raw []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, ok := s.sums[real]
	return ok && sum != sha256.Sum256(raw)
}
