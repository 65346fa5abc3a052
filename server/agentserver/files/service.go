package files

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
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
