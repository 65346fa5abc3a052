package editor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
)

// resolve returns the clean absolute path that the action means, and a note
// for the model when it had to be guessed.
func (e *Editor) resolve(a *event.FileEditorAction) (path, note string, err error) {
	if err := check(a); err != nil {
		return "", "", err
	}
	if strings.ContainsRune(a.Path, 0) {
		return "", "", refuse("path contains a NUL character")
	}
	if filepath.IsAbs(a.Path) {
		return filepath.Clean(a.Path), "", nil
	}
	if strings.HasPrefix(a.Path, "~") {
		return "", "", refuse("%q: ~ is not expanded here; give the absolute path", a.Path)
	}
	absolute := filepath.Join(e.cfg.Workspace, a.Path)
	if e.cfg.Workspace == "" {
		return "", "", refuse("%q is not an absolute path; it must start with /", a.Path)
	}
	if _, err := os.Lstat(absolute); err != nil || a.Command == cmdCreate {
		return "", "", refuse("%q is not an absolute path; did you mean %s?", a.Path, absolute)
	}
	return absolute, fmt.Sprintf("(%s was taken as %s; please give absolute paths.)", a.Path, absolute), nil
}

// forbidden says why a file must not be opened whatever its permissions are;
// "" if it may be. real has no symbolic links. The tool runs in the action
// server, so /proc/self and its numbered form show that process: environment,
// memory, open files.
func forbidden(real string) string {
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

// evalPath follows symbolic links and refuses files that may not be opened. The
// result of a path that does not exist is an error of kind fs.ErrNotExist.
func evalPath(path string) (string, error) {
	if why := forbidden(path); why != "" {
		return "", refuse("%s: %s", path, why)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if why := forbidden(real); why != "" {
		return "", refuse("%s: %s", path, why)
	}
	return real, nil
}

// explain turns an error of the operating system into a message with the next
// step.
func (e *Editor) explain(path string, err error) error {
	switch {
	case os.IsNotExist(err):
		return refuse("%s does not exist.%s", path, e.nearby(path))
	case os.IsPermission(err):
		return refuse("%s: permission denied", path)
	}
	return err
}

// maxNearby bounds the directory entries compared for a suggestion.
const maxNearby = 2000

// nearby suggests existing paths in place of a missing one.
func (e *Editor) nearby(path string) string {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || forbidden(dir) != "" {
		if e.cfg.Workspace != "" && !strings.HasPrefix(path, e.cfg.Workspace+"/") {
			if _, err := os.Lstat(filepath.Join(e.cfg.Workspace, path)); err == nil {
				return " Did you mean " + filepath.Join(e.cfg.Workspace, path) + "?"
			}
		}
		return " Its directory does not exist either."
	}
	names, err := readNames(dir, maxNearby)
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

// readNames reads at most limit entries of a directory.
func readNames(dir string, limit int) ([]fs.DirEntry, error) {
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
