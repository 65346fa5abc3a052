// Package workspacescope serves routes below a conversation: /bash, /file, /git
// and /vscode under /api/conversations/{id}. Paths that a request names must be
// inside the conversation's workspace.
//
// # Usage
//
//	func (s *Service) ScopedRoutes(of workspacescope.WorkspaceOf) []rest.Route { return of.Routes(s.Routes()) }
//
// A handler finds the conversation with [Of].
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Paths are checked before they are
// used; a handler that must hold against a program that changes links at the
// same time opens files with [os.Root]. A path outside is answered with 422, an
// unknown conversation with 404 (docs/openhands/sdk-wire-1.58.md section C.2).
package workspacescope

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/realpath"
)

// IDParam is the name of the conversation in the paths of scoped routes.
const IDParam = "runtime_conversation_id"

// Prefix replaces "/api" in the paths of scoped routes.
const Prefix = "/api/conversations/{" + IDParam + "}"

// WorkspaceOf returns the absolute path of a conversation's workspace, for its
// id as 32 hexadecimal digits; fault.NotFound if there is none.
type WorkspaceOf func(ctx context.Context, id string) (dir string, err error)

// Scope is the conversation that a request was made under.
type Scope struct {
	ID        string // 32 hexadecimal digits
	Workspace string
}

type key struct{}

// Of returns the scope of a request; ok is false for a global route.
func Of(ctx context.Context) (s Scope, ok bool) {
	s, ok = ctx.Value(key{}).(Scope)
	return s, ok
}

// Routes returns the scoped form of global routes.
func (w WorkspaceOf) Routes(global []rest.Route) []rest.Route {
	out := make([]rest.Route, 0, len(global))
	for _, r := range global {
		r.Path = Prefix + strings.TrimPrefix(r.Path, "/api")
		r.Handle = w.guard(r.Handle)
		out = append(out, r)
	}
	return out
}

func (w WorkspaceOf) guard(next rest.Handler) rest.Handler {
	return func(rw http.ResponseWriter, r *http.Request) error {
		id, err := rest.PathUUID(r, IDParam)
		if err != nil {
			return err
		}
		dir, err := w(r.Context(), id)
		if err != nil {
			return err
		}
		q := rest.QueryOf(r) // of a repeated parameter it checks the value that handlers use
		for _, name := range []string{"path", "workspace_dir"} {
			if path := q.String(name, ""); q.Has(name) && (!filepath.IsAbs(path) || !realpath.Inside(dir, path)) {
				return Outside(name)
			}
		}
		inner := r.WithContext(context.WithValue(r.Context(), key{}, Scope{ID: id, Workspace: dir}))
		err = next(rw, inner)
		r.Body = inner.Body // the server quotes what was read of it
		return err
	}
}

// Outside is the error of a parameter with a path outside of the workspace.
func Outside(name string) error {
	return rest.Fail(http.StatusUnprocessableEntity, name+" must be inside the conversation workspace")
}
