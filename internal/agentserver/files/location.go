package files

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/workspacescope"
	"github.com/deft-dev/deft/internal/gitview"
	"github.com/deft-dev/deft/internal/realpath"
)

// location is what a path of a request leads to. Files are opened through root only:
// links may be exchanged at any time, and root does not follow one out of itself.
type location struct {
	root  *os.Root // the workspace of a scoped route, / for a global one
	name  string   // below root, without links when it was looked at
	scope gitview.Scope
}

// locate finds the location of a checked path. Close it.
func locate(r *http.Request, path string) (location, error) {
	real := realpath.Follow(path)
	s, scoped := workspacescope.Of(r.Context())
	if !scoped {
		root, err := os.OpenRoot("/")
		if err != nil {
			return location{}, refused("open the root directory", err)
		}
		return location{root: root, name: orDot(strings.TrimPrefix(real, "/"))}, nil
	}
	if s.Root == nil {
		return location{}, rest.Fail(http.StatusNotFound, "Workspace directory does not exist")
	}
	name, err := filepath.Rel(s.Root.Name(), real)
	if err != nil || !filepath.IsLocal(name) {
		return location{}, workspacescope.Outside("path")
	}
	return location{s.Root, name, gitview.Scope{Root: s.Root}}, nil
}

func orDot(name string) string {
	if name == "" {
		return "."
	}
	return name
}

// close closes what locate opened. The root of a scope is not ours.
func (l location) close() {
	if l.scope.Root == nil {
		_ = l.root.Close() // nothing was written through it
	}
}

// path is the absolute path.
func (l location) path() string { return filepath.Join(l.root.Name(), l.name) }

// in returns the location of a name in this directory.
func (l location) in(name string) location {
	l.name = filepath.Join(l.name, name)
	return l
}

// openRegular opens a regular file to read it, and does not block on a pipe.
func (l location) openRegular() (*os.File, os.FileInfo, error) {
	f, err := l.root.OpenFile(l.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errNotFile
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, st, nil
}

var errNotFile = errors.New("not a file")

// refused returns the answer for an error of the file system. Errors that the
// client can correct are not errors of the server.
func refused(doing string, err error) error {
	var errno syscall.Errno
	var path *fs.PathError
	switch {
	case errors.As(err, &errno):
	case errors.As(err, &path): // of os.Root: a link that has appeared leads out of it
		return workspacescope.Outside("path")
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
	return refusedBySystem(doing, errno, err)
}
