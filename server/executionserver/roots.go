package executionserver

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// roots are the directories whose files can be read and written. Links are followed
// only within one of them.
type roots struct {
	paths []string // longer ones first where one is in another
	open  map[string]*os.Root
}

func openRoots(dirs []string) (*roots, error) {
	r := &roots{open: map[string]*os.Root{}}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			return nil, errors.Join(fault.New(fault.Invalid, "the directory "+dir+" must be an absolute path"), r.close())
		}
		dir = filepath.Clean(dir)
		names := []string{dir}
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			names = append(names, real)
		}
		for _, name := range names {
			if r.open[name] != nil {
				continue
			}
			root, err := os.OpenRoot(name)
			if err != nil {
				return nil, errors.Join(fault.Wrap(err, fault.Invalid, "open the directory "+name), r.close())
			}
			r.open[name], r.paths = root, append(r.paths, name)
		}
	}
	return r, nil
}

func (r *roots) close() error {
	var errs []error
	for _, root := range r.open {
		errs = append(errs, root.Close())
	}
	return errors.Join(errs...)
}

// check returns an error if a path leads out of the roots, also by a link. The file
// itself need not exist.
func (r *roots) check(path string) error {
	root, rel, err := r.find(path)
	if err != nil {
		return err
	}
	for {
		_, err := root.Stat(rel)
		if !errors.Is(err, fs.ErrNotExist) || rel == "." {
			return err
		}
		rel = filepath.Dir(rel)
	}
}

// find returns the root that a path is in, and its path there. The error is a
// *failure.
func (r *roots) find(path string) (*os.Root, string, error) {
	if strings.ContainsRune(path, 0) {
		return nil, "", fail(http.StatusBadRequest, "a path has no NUL characters")
	}
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) {
		return nil, "", fail(http.StatusBadRequest, "the path %s must be absolute", path)
	}
	best := ""
	for _, dir := range r.paths {
		if len(dir) >= len(best) && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")) {
			best = dir
		}
	}
	if best == "" {
		return nil, "", fail(http.StatusForbidden, "%s is not in a directory of this server (%s)", path, strings.Join(r.paths, ", "))
	}
	rel, err := filepath.Rel(best, path)
	if err != nil {
		return nil, "", fail(http.StatusBadRequest, "%v", err)
	}
	return r.open[best], rel, nil
}
