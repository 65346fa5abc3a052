package inside

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cloneTree copies the mounts at path, with all below, detached and with the
// attributes set; see open_tree(2) and mount_setattr(2), Linux 5.12.
func cloneTree(dir int, path string, attr uint64) (int, error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE)
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	fd, err := unix.OpenTree(dir, path, flags)
	if err != nil {
		return -1, err
	}
	if err := setAttr(fd, attr, unix.AT_RECURSIVE); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func setAttr(fd int, attr uint64, flags uint) error {
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|flags, &unix.MountAttr{Attr_set: attr})
}

// open resolves path inside the new root.
func (r *root) open(path string, flags uint64) (int, error) {
	return unix.Openat2(r.fd, relative(path), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | flags,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
}

func (r *root) isLink(path string) bool {
	_, err := readlinkat(r.fd, relative(path))
	return err == nil
}

// attach mounts a detached tree at path and takes the descriptor over.
func (r *root) attach(tree int, path string) error {
	defer unix.Close(tree)
	target, err := r.open(path, 0)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	return moveTo(tree, target)
}

func moveTo(tree, target int) error {
	return unix.MoveMount(tree, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// show mounts a tree at path. It makes a missing mount point, which works
// inside private directories only.
func (r *root) show(path string, tree int) error {
	if err := r.mountPoint(path, tree); err != nil {
		unix.Close(tree)
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := r.attach(tree, path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// mountPoint makes an empty directory or file of the tree's type, if there is
// nothing at path.
func (r *root) mountPoint(path string, tree int) error {
	if fd, err := r.open(path, 0); err == nil {
		return unix.Close(fd)
	}
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return r.mkdirAll(path)
	}
	if err := r.mkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return r.touch(path, "")
}

func (r *root) mkdirAll(path string) error {
	if fd, err := r.open(path, unix.O_DIRECTORY); err == nil {
		return unix.Close(fd)
	}
	parent := filepath.Dir(path)
	if parent == path {
		return unix.ENOENT
	}
	if err := r.mkdirAll(parent); err != nil {
		return err
	}
	return r.in(parent, func(dir int) error {
		if err := unix.Mkdirat(dir, filepath.Base(path), 0o755); err != unix.EEXIST {
			return err
		}
		return nil
	})
}

// touch makes a file in a private directory.
func (r *root) touch(path, content string) error {
	return r.in(filepath.Dir(path), func(dir int) error {
		fd, err := unix.Openat(dir, filepath.Base(path), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), path)
		_, err = f.WriteString(content)
		return errors.Join(err, f.Close())
	})
}

func (r *root) symlink(target, path string) error {
	if err := r.mkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return r.in(filepath.Dir(path), func(dir int) error {
		return unix.Symlinkat(target, dir, filepath.Base(path))
	})
}

func (r *root) in(path string, f func(dir int) error) error {
	dir, err := r.open(path, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := f(dir); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// tmpfs mounts an empty file system at path. It becomes read-only when all mount
// points in it are made.
func (r *root) tmpfs(path, mode string) error {
	target, err := r.open(path, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	return r.tmpfsAt(target, mode)
}

func (r *root) tmpfsAt(target int, mode string) error {
	fd, err := newFS("tmpfs", map[string]string{"mode": mode}, plainAttr)
	if err != nil {
		return err
	}
	r.freeze = append(r.freeze, fd)
	return moveTo(fd, target)
}

// shareMemory makes the file system of all private directories, so that they have
// one size together. It is mounted where one of them covers it.
func (r *root) shareMemory() error {
	var err error
	r.memory, err = newFS("tmpfs", map[string]string{
		"mode": "0700", "size": strconv.FormatInt(r.size, 10), "nr_inodes": "1000000",
	}, plainAttr)
	if err != nil {
		return err
	}
	target, err := r.open("/dev/shm", unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	return moveTo(r.memory, target)
}

// private mounts an empty directory of the shared file system at path.
func (r *root) private(path, mode string) error {
	target, err := r.open(path, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	name := strings.ReplaceAll(relative(path), "/", "-")
	if err := unix.Mkdirat(r.memory, name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) { // a home can be /tmp
		return err
	}
	bits, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return err
	}
	if err := unix.Fchmodat(r.memory, name, uint32(bits), 0); err != nil {
		return err
	}
	tree, err := cloneTree(r.memory, name, plainAttr)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return moveTo(tree, target)
}

// newFS makes a file system that is not mounted anywhere yet; see fsopen(2).
// An option without a value is a flag.
func newFS(name string, opts map[string]string, attr int) (int, error) {
	fs, err := unix.Fsopen(name, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for k, v := range opts {
		if v == "" {
			err = unix.FsconfigSetFlag(fs, k)
		} else {
			err = unix.FsconfigSetString(fs, k, v)
		}
		if err != nil {
			return -1, fmt.Errorf("set %s: %w", k, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("make %s: %w", name, err)
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
}
