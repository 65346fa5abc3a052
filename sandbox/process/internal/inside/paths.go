package inside

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// PrivateDirs are empty and writable in each sandbox.
var PrivateDirs = []string{"/tmp", "/var/tmp", "/run", "/var/run", "/dev/shm"}

// Exposed are paths inside private or covered directories that are needed and hold
// no secrets.
var Exposed = []string{"/home/linuxbrew", "/run/current-system"}

// Within reports whether path is dir or lies beneath it; both are clean.
func Within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// Resolve follows the symbolic links in path, as far as it exists.
func Resolve(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(Resolve(dir), filepath.Base(path))
	}
	return path
}

// Exists reports whether there is something at a path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// AllowedChildren returns the fewest paths that together contain everything
// beneath root except the hidden paths, by walking only along those.
func AllowedChildren(root string, hidden []string) []string {
	if !slices.ContainsFunc(hidden, func(h string) bool { return Within(h, root) }) {
		return []string{root}
	}
	if slices.Contains(hidden, root) {
		return nil
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil // paths that the user cannot list stay out
	}
	var all []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			continue // rules follow the target, which is reached by itself
		}
		all = append(all, AllowedChildren(filepath.Join(root, e.Name()), hidden)...)
	}
	return all
}

// SameFile reports whether a path names the file of a descriptor.
func SameFile(path string, fd int) bool {
	var a, b unix.Stat_t
	return unix.Stat(path, &a) == nil && unix.Fstat(fd, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
}
