package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/skill"
)

// Local is a workspace on this machine's disk. All goes through an [os.Root], which
// follows no link out of itself.
type Local struct {
	root  *os.Root
	scope gitview.Scope
}

var _ Files = (*Local)(nil)

// Open opens a directory. fs.ErrNotExist if it is not there.
func Open(dir string) (*Local, error) {
	root, err := os.OpenRoot(realpath.Resolve(dir))
	if err != nil {
		return nil, err
	}
	return Below(root), nil
}

// Below returns the workspace that an open directory is, whose name is an absolute
// path without links. Close closes it.
func Below(root *os.Root) *Local { return &Local{root, gitview.Scope{Root: root}} }

// Machine opens all files of this machine that this process can reach, for callers who
// may run commands here as well. Git is not confined to a directory.
func Machine() (*Local, error) {
	root, err := os.OpenRoot("/")
	if err != nil {
		return nil, err
	}
	return &Local{root: root}, nil
}

// Path implements [Files].
func (l *Local) Path() string { return l.root.Name() }

// Close implements [Files].
func (l *Local) Close() error { return l.root.Close() }

// name returns a path below the root, without links when it was looked at.
func (l *Local) name(path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", &fs.PathError{Op: "open", Path: path, Err: syscall.EINVAL}
	}
	if !filepath.IsAbs(path) {
		path = l.root.Name() + "/" + path // not cleaned: ".." after a link is not the parent in the path
	}
	name, err := filepath.Rel(l.root.Name(), realpath.Follow(path))
	if err != nil || !filepath.IsLocal(name) {
		return "", ErrOutside
	}
	return name, nil
}

// escaped gives the error of a link that has appeared, and leads out, its name. It is
// the only one of os.Root without an error number.
func escaped(err error) error {
	var errno syscall.Errno
	var path *fs.PathError
	if errors.As(err, &errno) || !errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("%w: %s", ErrOutside, path.Path)
}

// Stat implements [Files].
func (l *Local) Stat(_ context.Context, path string) (fs.FileInfo, error) {
	name, err := l.name(path)
	if err != nil {
		return nil, err
	}
	st, err := l.root.Stat(name)
	return st, escaped(err)
}

// Open implements [Files].
func (l *Local) Open(_ context.Context, path string) (File, error) {
	name, err := l.name(path)
	if err != nil {
		return nil, err
	}
	f, err := l.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, syscall.ENXIO): // a socket
		return nil, ErrNotFile
	case err != nil:
		return nil, escaped(err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = ErrNotFile
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// List implements [Files].
func (l *Local) List(ctx context.Context, path string) ([]fs.FileInfo, error) {
	name, err := l.name(path)
	if err != nil {
		return nil, err
	}
	d, err := l.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, escaped(err)
	}
	defer d.Close()
	var found []fs.FileInfo
	for {
		names, err := d.Readdirnames(1024)
		for _, one := range names {
			if st, err := l.root.Lstat(filepath.Join(name, one)); err == nil { // else it has vanished
				found = append(found, st)
			}
		}
		switch {
		case len(found) > MaxEntries:
			return nil, fmt.Errorf("list %s: %w: more than %d files", path, ErrTooLarge, MaxEntries)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil: // the end, or that the directory has been removed
			slices.SortFunc(found, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
			return found, nil
		}
	}
}

// MakeDirectory implements [Files].
func (l *Local) MakeDirectory(_ context.Context, path string) error {
	name, err := l.name(path)
	if err != nil {
		return err
	}
	err = l.root.MkdirAll(name, 0o777)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
		return ErrNotDirectory
	}
	return escaped(err)
}

// Skills implements [Files]. If the workspace is inside a repository, the
// repository's instructions are included.
func (l *Local) Skills(context.Context) ([]skill.Skill, []skill.Warning, error) {
	skills, warnings := skill.LoadProject(l.root.Name())
	return skills, warnings, nil
}
