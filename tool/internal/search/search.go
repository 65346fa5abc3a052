// Package search walks directory trees for the glob and grep tools, so that
// both search the same files, and holds the code that the two share.
//
// # Which files are searched
//
// Regular files below the root. Hidden files and directories are included;
// ignore files (.gitignore and the like) are not read, because a file that is
// not committed may be the one wanted. Directories of version control and
// package managers ([Skipped]) are left out, unless the root itself is one or
// lies in one. Symbolic links below the root are not
// followed. Kernel file systems (proc, sysfs and the like) are left out, and
// refused as a root: reading there can block, or reveal things about this
// process.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use by separate callers. A directory that
// cannot be read is passed over; the walk ends early only when ctx ends.
package search

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// Skipped are the names of the directories that a walk does not enter.
var Skipped = []string{
	".git", ".hg", ".svn", ".jj",
	"node_modules", "bower_components",
	"__pycache__", ".venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache",
	".gradle", ".terraform", ".cache",
}

// kernelFS are the magic numbers of file systems that hold no files of users.
var kernelFS = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
	unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC,
	unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC,
}

// Root finds the directory (with files also the file) to search. path may be empty (the workspace) or relative to the workspace. The
// result has no symbolic links. Errors are of kind fault.Invalid and meant for
// the model.
func Root(workspace, path string, files bool) (root string, info fs.FileInfo, err error) {
	switch {
	case path == "":
		path = workspace
	case !filepath.IsAbs(path):
		path = filepath.Join(workspace, path)
	}
	if strings.ContainsRune(path, 0) {
		return "", nil, fault.New(fault.Invalid, "path contains a NUL character")
	}
	if root, err = filepath.EvalSymlinks(path); err == nil {
		info, err = os.Lstat(root)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, fault.New(fault.Invalid, path+" does not exist")
	case err != nil:
		return "", nil, fault.Wrap(err, fault.Invalid, "cannot search "+path)
	case !info.IsDir() && (!files || !info.Mode().IsRegular()):
		return "", nil, fault.New(fault.Invalid, path+" is not a directory")
	case isKernelFS(root):
		return "", nil, fault.New(fault.Invalid, path+" is on a file system of the kernel; this tool does not search there")
	}
	return root, info, nil
}

func isKernelFS(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && slices.Contains(kernelFS, int64(st.Type))
}

// Batch is how many entries of a directory are read at a time, so that a
// directory of millions takes little memory.
const batch = 1024

// Walk calls visit with the path of every file, relative to root, with
// slashes, in no particular order. It ends early with ctx's error, or with
// the error of visit.
func Walk(ctx context.Context, root string, visit func(rel string) error) error {
	pending := []string{"."}
	for len(pending) > 0 {
		dir := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		sub, err := walkDir(ctx, root, dir, visit)
		if err != nil {
			return err
		}
		pending = append(pending, sub...)
	}
	return nil
}

func walkDir(ctx context.Context, root, dir string, visit func(string) error) (sub []string, err error) {
	full := filepath.Join(root, dir)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(full, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil // deleted, or not readable
	}
	defer func() { _ = f.Close() }() // only read
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) == nil && slices.Contains(kernelFS, int64(st.Type)) {
		return nil, nil
	}
	for {
		entries, err := f.ReadDir(batch)
		for _, entry := range entries {
			rel := entry.Name()
			if dir != "." {
				rel = dir + "/" + rel
			}
			switch {
			case entry.IsDir() && !slices.Contains(Skipped, entry.Name()):
				sub = append(sub, rel)
			case entry.Type().IsRegular():
				if err := visit(rel); err != nil {
					return nil, err
				}
			}
		}
		if err != nil || ctx.Err() != nil {
			if err != nil && !errors.Is(err, io.EOF) {
				return sub, nil // the rest of the directory cannot be read
			}
			return sub, ctx.Err()
		}
	}
}

// Newest keeps the newest files of those added, by modification time, then by
// path. The zero value is not ready; use [NewNewest].
type Newest struct {
	limit int
	files hits
	total int
}

type hit struct {
	path string
	time int64 // modification, nanoseconds
}

// before is the order of results.
func (h hit) before(o hit) bool {
	return h.time > o.time || h.time == o.time && h.path < o.path
}

// hits is a heap with the worst result on top.
type hits []hit

func (h hits) Len() int           { return len(h) }
func (h hits) Less(i, j int) bool { return h[j].before(h[i]) }
func (h hits) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *hits) Push(x any) {
	if v, ok := x.(hit); ok {
		*h = append(*h, v)
	}
}
func (h *hits) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// NewNewest returns a collector of at most limit files.
func NewNewest(limit int) *Newest { return &Newest{limit: limit} }

// Add adds the file at path, unless it has been deleted.
func (n *Newest) Add(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	n.total++
	heap.Push(&n.files, hit{path, info.ModTime().UnixNano()})
	if len(n.files) > n.limit {
		heap.Pop(&n.files)
	}
}

// Total returns how many files were added.
func (n *Newest) Total() int { return n.total }

// Paths returns the kept files, newest first.
func (n *Newest) Paths() []string {
	sorted := slices.Clone(n.files)
	slices.SortFunc(sorted, func(a, b hit) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	paths := make([]string, len(sorted))
	for i, h := range sorted {
		paths[i] = strings.ToValidUTF8(h.path, "\uFFFD")
	}
	return paths
}

// Why says why a search ended early; "" if it did not.
func Why(ctx context.Context, err error, limit fmt.Stringer) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return "The search was stopped after " + limit.String() + "; search in a smaller directory."
	case errors.Is(err, context.Canceled):
		return "The search was interrupted."
	}
	return "The search ended early: " + err.Error() + "."
}
