package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Resolve returns the clean absolute path of a model's path, which may be relative to the workspace.
func (x *Files) Resolve(path string) (string, error) {
	switch {
	case strings.TrimSpace(path) == "":
		return "", Refuse("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", Refuse("the path contains a NUL character")
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	case strings.HasPrefix(path, "~"):
		return "", Refuse("%q: ~ is not expanded here; give the absolute path", path)
	case x.cfg.Workspace == "":
		return "", Refuse("%q is not an absolute path; it must start with /", path)
	}
	return filepath.Join(x.cfg.Workspace, path), nil
}

// realTarget is [RealPath] for a path of which an end may be missing.
func realTarget(path string) (string, error) {
	dir := filepath.Dir(path)
	real, err := RealPath(dir)
	if errors.Is(err, fs.ErrNotExist) && dir != path {
		if _, lerr := os.Lstat(dir); lerr == nil {
			return "", Refuse("%s is a symbolic link to a directory that does not exist", dir)
		}
		real, err = realTarget(dir)
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(path)), nil
}

// Forbidden says why a file must not be opened whatever its permissions are;
// "" if it may be. real has no symbolic links. The tool runs in the action
// server, so /proc/self and its numbered form show that process: environment,
// memory, open files.
func Forbidden(real string) string {
	rest, ok := strings.CutPrefix(real, "/proc/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	switch {
	case first == "self", first == "thread-self", strings.Trim(first, "0123456789") == "":
		return "files about processes are not shown by this tool"
	case first == "kcore", first == "kmsg", first == "kpagecount", first == "kpageflags":
		return "files of the kernel's memory are not shown by this tool"
	}
	return ""
}

// RealPath follows symbolic links and refuses files that may not be opened. The
// result of a path that does not exist is an error of kind fs.ErrNotExist.
func RealPath(path string) (string, error) {
	if why := Forbidden(path); why != "" {
		return "", Refuse("%s: %s", path, why)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if why := Forbidden(real); why != "" {
		return "", Refuse("%s: %s", path, why)
	}
	return real, nil
}

// Explain turns an error of the operating system into a message with the next
// step.
func (x *Files) Explain(path string, err error) error {
	switch {
	case os.IsNotExist(err):
		if to, err := os.Readlink(path); err == nil {
			return Refuse("%s is a symbolic link to %s, which does not exist.", path, to)
		}
		return Refuse("%s does not exist.%s", path, x.nearby(path))
	case os.IsPermission(err):
		return Refuse("%s: permission denied", path)
	}
	return err
}

// maxNearby bounds the directory entries compared for a suggestion.
const maxNearby = 2000

// nearby suggests existing paths in place of a missing one.
func (x *Files) nearby(path string) string {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || Forbidden(dir) != "" {
		if x.cfg.Workspace != "" && !strings.HasPrefix(path, x.cfg.Workspace+"/") {
			if _, err := os.Lstat(filepath.Join(x.cfg.Workspace, path)); err == nil {
				return " Did you mean " + filepath.Join(x.cfg.Workspace, path) + "?"
			}
		}
		return " Its directory does not exist either."
	}
	names, err := Names(dir, maxNearby)
	if err != nil {
		return ""
	}
	want := strings.ToLower(filepath.Base(path))
	stem := strings.TrimSuffix(want, filepath.Ext(want))
	var near []string
	for _, n := range names {
		low := strings.ToLower(n.Name())
		if low == want || stem != "" && strings.TrimSuffix(low, filepath.Ext(low)) == stem ||
			len(want) > 3 && (strings.Contains(low, want) || len(low) > 3 && strings.Contains(want, low)) {
			near = append(near, filepath.Join(dir, n.Name()))
		}
	}
	if len(near) == 0 || len(near) > 5 {
		return " View " + dir + " to see what is there."
	}
	return " Did you mean " + strings.Join(near, " or ") + "?"
}

// Names reads at most limit entries of a directory.
func Names(dir string, limit int) ([]fs.DirEntry, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	entries, err := f.ReadDir(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
