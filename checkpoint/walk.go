package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// Names of directories that tools fill again.
var cacheNames = map[string]bool{
	"node_modules": true, "bower_components": true, "__pycache__": true, ".venv": true, ".tox": true, ".nox": true, ".gradle": true,
	".mypy_cache": true, ".pytest_cache": true, ".ruff_cache": true, ".cache": true, ".terraform": true,
}

// Files that mark such a directory: the Cache Directory Tagging Specification's
// (cargo's target has it, for example), and the one of Python's environments.
var cacheMarks = [...]string{"CACHEDIR.TAG", "pyvenv.cfg"}

// maxListed bounds the paths that a record lists.
const (
	maxListed  = 50
	maxPrivate = 1000
)

// found has the changes in a workspace since its index was written.
type found struct {
	changed []string // new or changed
	removed []string // gone, or left out by now
	files   int
	bytes   int64 // of changed files
	leftOut map[string]bool
	listed  []string // the first of leftOut, caches aside

	private    []string
	allPrivate bool
}

// walker looks for changes in a directory and those below it.
type walker struct {
	found
	all     *walk
	entries []entry // of the index, which are below the directory
	at      int     // the next one
	path    []byte  // of the file that is looked at, relative to the workspace
	depth   int
}

// walk is one comparison of a workspace with its index, by a walker for each processor.
type walk struct {
	ctx     context.Context
	exclude []os.FileInfo
	written time.Time // the index

	walkers *errgroup.Group
	mu      sync.Mutex // guards the fields below
	sum     found
}

func openDir(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openAt opens a directory in another one.
func openAt(d *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(d.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// compareWith compares the workspace with an index. It follows no links.
func (w *workspace) compareWith(ctx context.Context, x index) (*found, error) {
	all := &walk{exclude: w.exclude, written: x.written, sum: found{leftOut: map[string]bool{}}}
	group, ctx := errgroup.WithContext(ctx)
	all.ctx, all.walkers = ctx, group
	root, err := openAt(w.root, ".")
	if err != nil {
		return nil, fmt.Errorf("read the workspace: %w", err)
	}
	group.SetLimit(runtime.GOMAXPROCS(0))
	group.Go(func() error { return all.walk(&walker{entries: x.entries}, root) })
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("read the workspace: %w", err)
	}
	slices.Sort(all.sum.listed)
	return &all.sum, nil
}

// walk has a walker look at a directory, closes that, and adds the findings.
func (all *walk) walk(k *walker, d *os.File) error {
	k.all, k.leftOut = all, map[string]bool{}
	err := k.dir(d)
	_ = d.Close() // it was only read
	if err != nil {
		return err
	}
	for _, e := range k.entries[k.at:] {
		k.removed = append(k.removed, e.path)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.sum.add(&k.found)
}

// add adds the findings of another walker. The error is of kind Limit.
func (f *found) add(o *found) error {
	f.changed, f.removed = append(f.changed, o.changed...), append(f.removed, o.removed...)
	f.files, f.bytes = f.files+o.files, f.bytes+o.bytes
	maps.Copy(f.leftOut, o.leftOut)
	f.listed = append(f.listed, o.listed...)
	f.listed = f.listed[:min(len(f.listed), maxListed)]
	f.private, f.allPrivate = append(f.private, o.private...), f.allPrivate || o.allPrivate
	if f.allPrivate = f.allPrivate || len(f.private) > maxPrivate; f.allPrivate {
		f.private = nil
	}
	return f.check()
}

// check returns an error of kind Limit for a workspace that is too large.
func (f *found) check() error {
	switch {
	case f.files > maxFiles:
		return fault.New(fault.Limit, fmt.Sprintf("the workspace has more than %d files", maxFiles))
	case f.bytes > maxNewBytes:
		return fault.New(fault.Limit, fmt.Sprintf("more than %d MiB of files are new", maxNewBytes>>20))
	}
	return nil
}

// leave leaves a path out.
func (k *walker) leave(list bool) {
	p := string(k.path)
	k.leftOut[p] = true
	if list && len(k.listed) < maxListed {
		k.listed = append(k.listed, p)
	}
}

// dir looks at a directory, in the order of an index.
func (k *walker) dir(d *os.File) error {
	if err := k.all.ctx.Err(); err != nil {
		return err
	}
	all, err := d.ReadDir(-1)
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, e := range all {
		if names[i] = e.Name(); e.IsDir() {
			names[i] += "/" // as the paths below it
		}
	}
	slices.Sort(names)
	base := len(k.path)
	for _, name := range names {
		k.path = append(k.path[:base], name...)
		if sub, isDir := strings.CutSuffix(name, "/"); isDir {
			err = k.subdir(d, sub)
		} else {
			err = k.file(d, name)
		}
		if err != nil {
			return err
		}
	}
	k.path = k.path[:base]
	return nil
}

func isGit(name string) bool { return strings.EqualFold(name, ".git") }

func (k *walker) subdir(parent *os.File, name string) error {
	if isGit(name) {
		return nil
	}
	end := len(k.path)
	k.path = k.path[:end-1]
	if cacheNames[name] || k.depth == maxDepth {
		k.leave(!cacheNames[name])
		return nil
	}
	d, err := openAt(parent, name)
	switch {
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM):
		k.leave(true)
		return nil
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		return nil // it has just been replaced
	case err != nil:
		return err
	}
	if k.isExcluded(d) || isCache(int(d.Fd())) {
		_ = d.Close() // it was only read
		k.leave(false)
		return nil
	}
	k.path = k.path[:end]
	if k.depth < sharedDepth && k.share(d) {
		return nil
	}
	defer d.Close()
	k.depth++
	defer func() { k.depth-- }()
	return k.dir(d)
}

// sharedDepth is how deep directories are that another walker may take over.
const sharedDepth = 3

// share has another walker look at the directory k.path, if one is free.
func (k *walker) share(d *os.File) bool {
	k.skipTo(string(k.path))
	end := k.at
	for end < len(k.entries) && strings.HasPrefix(k.entries[end].path, string(k.path)) {
		end++
	}
	other := &walker{entries: k.entries[k.at:end], path: slices.Clone(k.path), depth: k.depth + 1}
	if !k.all.walkers.TryGo(func() error { return k.all.walk(other, d) }) {
		return false
	}
	k.at = end
	return true
}

// skipTo passes the entries before a path, whose files are gone.
func (k *walker) skipTo(path string) {
	for ; k.at < len(k.entries) && k.entries[k.at].path < path; k.at++ {
		k.removed = append(k.removed, k.entries[k.at].path)
	}
}

func isCache(dir int) bool {
	for _, name := range cacheMarks {
		if unix.Faccessat(dir, name, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil {
			return true
		}
	}
	return false
}

func (k *walker) isExcluded(d *os.File) bool {
	info, err := d.Stat()
	return err == nil && slices.ContainsFunc(k.all.exclude, func(x os.FileInfo) bool { return os.SameFile(x, info) })
}

// file looks at anything but a directory.
func (k *walker) file(d *os.File, name string) error {
	if isGit(name) {
		return nil
	}
	var st unix.Stat_t
	err := unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil // it has just been removed
	case err != nil:
		return err
	}
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFREG && kind != unix.S_IFLNK || st.Size > maxFileSize {
		k.leave(kind == unix.S_IFREG)
		return nil
	}
	old := k.entry()
	if old == nil || !old.same(&st, k.all.written) {
		if kind == unix.S_IFREG && unix.Faccessat(int(d.Fd()), name, unix.R_OK, unix.AT_EACCESS) != nil {
			if old != nil {
				k.removed = append(k.removed, old.path)
			}
			k.leave(true)
			return nil
		}
		k.changed = append(k.changed, string(k.path))
		k.bytes += st.Size
	}
	k.files++
	if err := k.check(); err != nil {
		return err
	}
	if kind == unix.S_IFREG && st.Mode&0o077 == 0 && !k.allPrivate {
		k.private = append(k.private, string(k.path))
		if k.allPrivate = len(k.private) > maxPrivate; k.allPrivate {
			k.private = nil
		}
	}
	return nil
}

// entry returns the entry of the index for the present path, nil if there is none.
func (k *walker) entry() *entry {
	k.skipTo(string(k.path))
	if k.at == len(k.entries) || k.entries[k.at].path != string(k.path) {
		return nil
	}
	k.at++
	return &k.entries[k.at-1]
}

// stillThere reports whether a path that is to be removed from the index lies in a
// part that is left out: it may be on disk.
func (f *found) stillThere(path string) bool {
	for i := range len(path) {
		if path[i] == '/' && f.leftOut[path[:i]] {
			return true
		}
	}
	return f.leftOut[path]
}
