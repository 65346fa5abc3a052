package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tempPattern names the file that a new version is written to first.
const tempPattern = ".deft-edit-*"

// replaceFile replaces f with data, unless f has changed since it was
// read. Mode, owner and extended attributes stay.
func replaceFile(f *File, data []byte) error {
	if err := unix.Access(f.Real, unix.W_OK); err != nil {
		return &fs.PathError{Op: "write", Path: f.Real, Err: err}
	}
	tmp, err := writeTemp(filepath.Dir(f.Real), data)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
			return rewrite(f, data) // the directory cannot be written, the file can
		}
		return err
	}
	defer func() { _ = os.Remove(tmp) }() // it is already gone if it was renamed
	if err := copyMeta(f, tmp); err != nil {
		return rewrite(f, data)
	}
	if err := unchanged(f); err != nil {
		return err
	}
	if err := os.Rename(tmp, f.Real); err != nil {
		return rewrite(f, data) // for example a bind mount
	}
	return syncDir(filepath.Dir(f.Real))
}

// createFile makes a file that did not exist; fs.ErrExist when it does now.
func createFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	tmp, err := writeTemp(dir, data)
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "create", Path: path, Err: named.Err} // nobody knows the temporary name
	}
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp) }() // it is already gone if it was renamed
	mask := umask()
	if err := os.Chmod(tmp, 0o666&^mask); err != nil {
		return err
	}
	return moveFile(tmp, path)
}

// moveFile renames a file to a name at which nothing is; fs.ErrExist when something is there.
func moveFile(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // file systems without RENAME_NOREPLACE
		if err = os.Link(from, to); err == nil {
			err = os.Remove(from)
		}
	}
	if err != nil {
		return &fs.PathError{Op: "create", Path: to, Err: err}
	}
	return errors.Join(syncDir(filepath.Dir(to)), syncDir(filepath.Dir(from)))
}

// umask reads the process's mask without changing it, which would be seen by
// other threads; 022 if the kernel does not report it.
func umask() fs.FileMode {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0o022
	}
	_, rest, ok := bytes.Cut(status, []byte("\nUmask:"))
	var mask uint32
	if !ok {
		return 0o022
	}
	if _, err := fmt.Sscanf(string(rest[:min(len(rest), 16)]), "%o", &mask); err != nil {
		return 0o022
	}
	return fs.FileMode(mask & 0o777)
}

func writeTemp(dir string, data []byte) (path string, err error) {
	f, err := os.CreateTemp(dir, tempPattern)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one that counts
		return "", err
	}
	return f.Name(), nil
}

// copyMeta gives the new file the owner, mode and extended attributes of the
// old one. Attributes that may not be set are left out.
func copyMeta(f *File, tmp string) error {
	var st unix.Stat_t
	if err := unix.Lstat(tmp, &st); err != nil {
		return err
	}
	if st.Uid != f.stat.Uid || st.Gid != f.stat.Gid {
		if err := os.Lchown(tmp, int(f.stat.Uid), int(f.stat.Gid)); err != nil {
			return err
		}
	}
	if err := unix.Chmod(tmp, f.stat.Mode&0o7777); err != nil {
		return err
	}
	names := make([]byte, 4096)
	n, err := unix.Llistxattr(f.Real, names)
	if err != nil {
		return nil // the file system has none
	}
	value := make([]byte, 64<<10)
	for name := range bytes.SplitSeq(names[:n], []byte{0}) {
		if len(name) == 0 {
			continue
		}
		if m, err := unix.Lgetxattr(f.Real, string(name), value); err == nil {
			_ = unix.Lsetxattr(tmp, string(name), value[:m], 0) // as far as we may
		}
	}
	return nil
}

// unchanged reports an error when the file is not the one that was read.
func unchanged(f *File) error {
	var st unix.Stat_t
	if err := unix.Lstat(f.Real, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Real, Err: err}
	}
	if st.Ino != f.stat.Ino || st.Dev != f.stat.Dev || st.Size != f.stat.Size || st.Mtim != f.stat.Mtim {
		return Refuse("%s was changed by another program during the edit; nothing was written. View it and try again.", f.Real)
	}
	return nil
}

// rewrite overwrites the file in place, where it cannot be replaced.
func rewrite(f *File, data []byte) error {
	if err := unchanged(f); err != nil {
		return err
	}
	w, err := os.OpenFile(f.Real, os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	if err == nil {
		err = w.Truncate(int64(len(data)))
	}
	if err == nil {
		err = w.Sync()
	}
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

// syncDir makes a rename durable. File systems that cannot sync a directory
// are left alone.
func syncDir(dir string) error {
	d, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil // a directory may be writable but not readable
	}
	defer func() { _ = d.Close() }() // nothing was written through it
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
