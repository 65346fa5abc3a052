package gitview

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/internal/realpath"
)

// Scope is where repositories and their files may be. The zero Scope is the whole
// file system.
type Scope struct {
	// Root, unless nil, is the only directory whose files are shown. Its name is an
	// absolute path without links. Its repository may be around it, or be one whose
	// worktree it is. Programs may exchange links in it at any time.
	Root *os.Root
}

// inside returns a path relative to Root; ok is false if it is not below it.
func (s Scope) inside(path string) (rel string, ok bool) {
	if s.Root == nil {
		return "", false
	}
	rel, err := filepath.Rel(s.Root.Name(), path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// shows reports whether files at a path may be shown.
func (s Scope) shows(path string) bool {
	_, ok := s.inside(path)
	return ok || s.Root == nil
}

// open opens a file to read it, without blocking on a pipe: below Root through it,
// any other by its path. Callers pass only those others that a hostile Root has no
// influence on.
func (s Scope) open(path string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if rel, ok := s.inside(path); ok {
		return s.Root.OpenFile(rel, flags, 0)
	}
	return os.OpenFile(path, flags, 0)
}

func (s Scope) stat(path string) (fs.FileInfo, error) {
	if rel, ok := s.inside(path); ok {
		return s.Root.Stat(rel)
	}
	return os.Stat(path)
}

func (s Scope) lstat(path string) (fs.FileInfo, error) {
	if rel, ok := s.inside(path); ok {
		return s.Root.Lstat(rel)
	}
	return os.Lstat(path)
}

// readSmall returns the beginning of a regular file, or "".
func (s Scope) readSmall(path string) string {
	f, err := s.open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return ""
	}
	return string(b)
}

// gitDir returns the git directory of a working tree and the one that it shares
// with the main working tree.
func (s Scope) gitDir(top string) (real, common string, ok bool) {
	real = filepath.Join(top, ".git")
	st, err := s.stat(real)
	if err != nil {
		return "", "", false
	}
	if !st.IsDir() {
		to, found := strings.CutPrefix(s.readSmall(real), "gitdir: ")
		if !found {
			return "", "", false
		}
		real = within(top, to)
	}
	if s.shows(top) && !s.shows(real) && !isWorktree(real, top) {
		return "", "", false
	}
	if _, err := s.lstat(filepath.Join(real, "HEAD")); err != nil {
		return "", "", false
	}
	common = real
	if to := s.readSmall(filepath.Join(real, "commondir")); to != "" {
		common = within(real, to)
	}
	return real, common, !s.shows(real) || s.shows(common)
}

// isWorktree reports whether a git directory elsewhere says itself that it is the one
// of the worktree top. The file in the worktree is not believed: a program in it could
// name any repository.
func isWorktree(real, top string) bool {
	var all Scope
	back := strings.TrimRight(all.readSmall(filepath.Join(real, "gitdir")), "\r\n")
	common := all.readSmall(filepath.Join(real, "commondir"))
	return realpath.Resolve(real) == real && back != "" && common != "" &&
		realpath.Resolve(within(real, back)) == filepath.Join(top, ".git") &&
		realpath.Resolve(within(real, common)) == filepath.Dir(filepath.Dir(real))
}

// within reads a path that may be relative to dir.
func within(dir, path string) string {
	if path = strings.TrimRight(path, "\r\n"); filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// readable opens the files of a view that git may read: the directory that is
// shown, the repository where it is elsewhere, and lists of ignored files. Close
// them.
func (v *View) readable() (files []*os.File, err error) {
	if v.scope.Root == nil {
		return nil, nil
	}
	root, err := v.scope.Root.Open(".")
	if err != nil {
		return nil, err
	}
	files = append(files, root)
	var paths []string
	for _, dir := range []string{v.real, v.common} {
		if !v.scope.shows(dir) {
			paths = append(paths, dir)
		}
	}
	for dir := v.scope.Root.Name(); dir != v.Top && dir != filepath.Dir(dir) && !v.scope.shows(v.Top); {
		dir = filepath.Dir(dir)
		paths = append(paths, filepath.Join(dir, ".gitignore"))
	}
	if file := ignored(); file != "" {
		paths = append(paths, file)
	}
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // git cannot read it either
		}
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}
