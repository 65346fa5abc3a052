// Package files serves files: upload, download, directories, archives,
// trajectories, and a conversation's workspace as web pages.
//
// # Usage
//
//	s := files.New(files.Options{WorkspaceOf: …, Trajectory: …})
//	routes := append(s.Routes(), s.ScopedRoutes(of)...)
//
// # Concurrency
//
// A [Service] is safe for concurrent use. Contents are streamed in both
// directions; the memory for a file does not depend on its size. An upload appears
// under its name when it is complete.
//
// # Security
//
// The global routes reach every file that the server can read, as the reference's
// do; their clients may run commands as well. Under a conversation, paths must be
// in its workspace. Pages of a workspace are hostile: links do not lead out of it,
// and a policy makes browsers give them an origin of their own.
//
// # Failure
//
// Bad paths are answered with 400, 403, 404 or 422
// (docs/openhands/sdk-wire-1.58.md section B.8). A connection that breaks while
// a file is sent is closed, so that the client sees it.
package files

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

// Options configure the service.
type Options struct {
	// WorkspaceOf finds the workspace whose pages are served.
	WorkspaceOf workspacescope.WorkspaceOf
	// Trajectory calls add for each file of a conversation's directory as
	// OpenHands lays it out: "meta.json", "base_state.json",
	// "events/event-00000-<id>.json" and so on (docs/openhands/sdk-wire.md
	// section 12). NotFound, before the first call of add, if there is no
	// conversation.
	Trajectory func(ctx context.Context, id string, add AddFile) error
	// Home is the user's home directory; empty takes the process's.
	Home string
}

// AddFile takes one file of a trajectory.
type AddFile func(name string, modified time.Time, content []byte) error

// Service serves the routes under /api/file and the routes of workspaces.
type Service struct{ o Options }

// New returns the service.
func New(o Options) *Service { return &Service{o: o} }

const tag = "Files"

// Routes returns the global operations, and the older forms with the path in
// the URL.
func (s *Service) Routes() []rest.Route {
	return append(slices.Concat(s.WorkspaceRoutes(), s.ConversationRoutes()),
		rest.Route{Method: "GET", Path: "/api/file/search_subdirs", Tag: tag, Scope: rest.Sandbox, Handle: s.subdirs},
	)
}

// WorkspaceRoutes returns the global operations on files of a workspace, by their paths.
func (s *Service) WorkspaceRoutes() []rest.Route {
	return append(s.shared(),
		rest.Route{Method: "GET", Path: "/api/file/home", Tag: tag, Scope: rest.Sandbox, Handle: s.home},
		rest.Route{Method: "POST", Path: "/api/file/upload/{path...}", Tag: tag, Hidden: true, Limit: -1, Scope: rest.Sandbox, Handle: s.upload},
		rest.Route{Method: "GET", Path: "/api/file/download/{path...}", Tag: tag, Hidden: true, Scope: rest.Sandbox, Handle: s.download},
	)
}

// ConversationRoutes returns the global operations that name a conversation, and the
// cookie of its files.
func (s *Service) ConversationRoutes() []rest.Route {
	return []rest.Route{
		s.trajectories(),
		{Method: "GET", Path: "/api/conversations/{conversation_id}/workspace", Tag: "Workspace", Carrier: rest.Cookie, Scope: rest.Sandbox, Handle: s.page},
		{Method: "GET", Path: "/api/conversations/{conversation_id}/workspace/{file_path...}", Tag: "Workspace", Carrier: rest.Cookie, Scope: rest.Sandbox, Handle: s.page},
		{Method: "POST", Path: "/api/auth/workspace-session", Tag: "Auth", Scope: rest.Sandbox, Handle: openSession},
		{Method: "DELETE", Path: "/api/auth/workspace-session", Tag: "Auth", Scope: rest.Sandbox, Handle: closeSession},
	}
}

func (s *Service) trajectories() rest.Route {
	return rest.Route{Method: "GET", Path: "/api/file/download-trajectory/{conversation_id}", Tag: tag, Scope: rest.Sandbox, Handle: s.trajectory}
}

// ScopedRoutes returns the operations under each conversation.
func (s *Service) ScopedRoutes(of workspacescope.WorkspaceOf) []rest.Route {
	return of.Routes(append(s.shared(), s.trajectories(), rest.Route{Method: "GET", Path: "/api/file/list", Tag: tag, Hidden: true, Scope: rest.Sandbox, Handle: s.list}))
}

func (s *Service) shared() []rest.Route {
	return []rest.Route{
		{Method: "POST", Path: "/api/file/upload", Tag: tag, Limit: -1, Scope: rest.Sandbox, Handle: s.upload},
		{Method: "GET", Path: "/api/file/download", Tag: tag, Scope: rest.Sandbox, Handle: s.download},
		{Method: "POST", Path: "/api/file/create_directory", Tag: tag, Scope: rest.Sandbox, Handle: s.makeDirectory},
		{Method: "GET", Path: "/api/file/archive", Tag: tag, Scope: rest.Sandbox, Handle: s.archive},
	}
}

// pathOf takes an absolute path from the query, or from the URL, where it lost
// its first slash.
func pathOf(r *http.Request, q *rest.Query) (string, error) {
	path := r.PathValue("path")
	if path != "" {
		path = "/" + path
	} else {
		path = q.Required("path")
	}
	if err := q.Err(); err != nil {
		return "", err
	}
	return path, checkPath(path)
}

func checkPath(path string) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return rest.Fail(http.StatusBadRequest, "Path must be absolute")
	case strings.ContainsRune(path, 0):
		return rest.Fail(http.StatusBadRequest, "Path must not contain null bytes")
	}
	return nil
}

// tidy removes empty parts and dots from an absolute path, but not "..": after a
// link it is not the parent in the path.
func tidy(path string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(path, "/") {
		if part != "" && part != "." {
			b.WriteString("/" + part)
		}
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// refusedBySystem returns the answer for an error number of the system.
func refusedBySystem(doing string, errno syscall.Errno, err error) error {
	switch errno {
	case syscall.EACCES, syscall.EPERM, syscall.EROFS:
		return rest.Fail(http.StatusForbidden, "Permission denied: "+err.Error())
	case syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EINVAL, syscall.ENOENT, syscall.ENOTDIR:
		return rest.Fail(http.StatusBadRequest, "Path cannot be used: "+errno.Error())
	case syscall.ENOSPC, syscall.EDQUOT:
		return fault.Wrap(err, fault.Full, doing)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

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

// targetOf returns the path of a request and the files that it is in; the caller releases
// them.
func targetOf(r *http.Request) (path string, files workspace.Files, release func(), err error) {
	if path, err = pathOf(r, rest.QueryOf(r)); err != nil {
		return "", nil, nil, err
	}
	files, release, err = filesOf(r)
	return path, files, release, err
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
