package workspace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write implements [Files]. A link stays; its target is replaced.
func (l *Local) Write(ctx context.Context, path string, r io.Reader) (int64, error) {
	name, err := l.name(path)
	if err != nil {
		return 0, err
	}
	t, err := l.target(name)
	if err != nil {
		return 0, err
	}
	size, err := io.CopyBuffer(struct{ io.Writer }{t.f}, r, make([]byte, 256<<10))
	if err == nil {
		err = ctx.Err()
	}
	return size, escaped(errors.Join(err, t.finish(err == nil), t.dir.Close()))
}

// target is a file that is being written, under another name until it is complete.
type target struct {
	f    *os.File
	dir  *os.Root // its directory
	name string
	temp string // the file's present name; empty if it is written in place
}

// target creates the file to write and its directories.
func (l *Local) target(name string) (t *target, err error) {
	t = &target{name: filepath.Base(name), temp: ".upload-" + random()}
	if err = l.root.MkdirAll(filepath.Dir(name), 0o777); err == nil {
		t.dir, err = l.root.OpenRoot(filepath.Dir(name))
	}
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
		return nil, ErrParent
	}
	if err != nil {
		return nil, escaped(err)
	}
	if err := t.open(); err != nil {
		return nil, escaped(errors.Join(err, t.dir.Close()))
	}
	return t, nil
}

// open creates the file in its directory.
func (t *target) open() error {
	old, err := t.dir.Stat(t.name)
	switch {
	case err == nil && old.IsDir():
		return ErrIsDirectory
	case err == nil && !old.Mode().IsRegular():
		return ErrNotFile
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	t.f, err = t.dir.OpenFile(t.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrPermission) && old != nil { // the directory is not writable
		t.temp = ""
		t.f, err = t.dir.OpenFile(t.name, os.O_WRONLY|os.O_TRUNC|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		return err
	}
	if old != nil && t.temp != "" {
		if err := t.f.Chmod(old.Mode().Perm()); err != nil {
			return errors.Join(err, t.finish(false))
		}
		if st, ok := old.Sys().(*syscall.Stat_t); ok {
			// Only root can; others own the new file.
			_ = t.f.Chown(int(st.Uid), int(st.Gid))
		}
	}
	return nil
}

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// finish renames a complete file to its name and removes an incomplete one.
func (t *target) finish(whole bool) error {
	err := t.f.Close()
	if t.temp == "" {
		return err
	}
	if whole && err == nil {
		if err = t.dir.Rename(t.temp, t.name); err == nil {
			return nil
		}
	}
	return errors.Join(err, t.dir.Remove(t.temp))
}
