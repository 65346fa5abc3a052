// Package workspacescope keeps requests that are made under a conversation inside its
// workspace: /api/conversations/{id}/bash, /file, /git and /vscode.
//
// # Usage
//
//	func (s *Service) ScopedRoutes(of workspacescope.WorkspaceOf) []rest.Route { return of.Routes(s.Routes()) }
//
// and a handler that needs to know asks [Of].
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. The check comes before the use, so
// it keeps clients on their way, but does not hold a program that changes
// links at the same time; what must hold there opens files through [os.Root].
// A path outside is answered with 422, an unknown conversation with 404
// (sdk-wire-1.58.md section C.2).
package workspacescope

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// IDParam is the name of the conversation in the paths of scoped routes.
const IDParam = "runtime_conversation_id"

// Prefix is what the paths of scoped routes have in place of "/api".
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

// Routes makes scoped routes of global ones.
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
		q := rest.QueryOf(r) // the value that is looked at must be the one that is used
		for _, name := range []string{"path", "workspace_dir"} {
			if path := q.String(name, ""); q.Has(name) && (!filepath.IsAbs(path) || !Inside(dir, path)) {
				return Outside(name)
			}
		}
		inner := r.WithContext(context.WithValue(r.Context(), key{}, Scope{ID: id, Workspace: dir}))
		err = next(rw, inner)
		r.Body = inner.Body // what was read of it, for who quotes it
		return err
	}
}

// Outside is the answer to a parameter that leads out of the workspace.
func Outside(name string) error {
	return rest.Fail(http.StatusUnprocessableEntity, name+" must be inside the conversation workspace")
}

// Inside reports whether path is dir or below it, once all links are followed.
func Inside(dir, path string) bool {
	if strings.ContainsRune(path, 0) {
		return false
	}
	rel, err := filepath.Rel(Resolve(dir), Resolve(path))
	return err == nil && filepath.IsLocal(rel)
}

// Resolve makes a path absolute and follows its links as far as it exists.
func Resolve(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return resolve(path, 0)
}

// maxLinks bounds links that lead to links, as the kernel does.
const maxLinks = 40

func resolve(path string, links int) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, name := filepath.Split(path)
	if dir = filepath.Clean(dir); dir == path {
		return path
	}
	parent := resolve(dir, links)
	// A link to what does not exist (yet) leads out all the same.
	if to, err := os.Readlink(filepath.Join(parent, name)); err == nil && links < maxLinks {
		if !filepath.IsAbs(to) {
			to = filepath.Join(parent, to)
		}
		return resolve(filepath.Clean(to), links+1)
	}
	return filepath.Join(parent, name)
}
