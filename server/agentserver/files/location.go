package files

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"syscall"

	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

// filesOf returns the files that a request may reach: its conversation's
// workspace, or all of this machine for a global route. Call release in the end.
func filesOf(r *http.Request) (files workspace.Files, release func(), err error) {
	s, scoped := workspacescope.Of(r.Context())
	switch {
	case scoped && s.Files == nil:
		return nil, nil, rest.Fail(http.StatusNotFound, "Workspace directory does not exist")
	case scoped:
		return s.Files, func() {}, nil // the scope closes them
	}
	all, err := workspace.Machine()
	if err != nil {
		return nil, nil, refused("open the root directory", err)
	}
	return all, func() { _ = all.Close() }, nil // nothing is left to fail
}

// scratch returns an unnamed file for an archive of a directory.
func scratch(files workspace.Files, dir string) (*os.File, error) {
	if here, ok := files.(*workspace.Local); ok {
		return here.Scratch(dir)
	}
	return workspace.Scratch()
}

// refused returns the answer for an error of a workspace. Errors that the client can
// correct are not errors of the server.
func refused(doing string, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, workspace.ErrOutside):
		return workspacescope.Outside("path")
	case errors.As(err, &errno):
		return refusedBySystem(doing, errno, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
