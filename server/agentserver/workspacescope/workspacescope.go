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
// Everything is safe for concurrent use. The path in a query is checked before the
// handler is called. Programs in the workspace may change its links at any time, so
// handlers open files through [Scope.Files] only. A path outside is answered with 422,
// an unknown conversation with 404 (docs/openhands/sdk-wire-1.58.md section C.2).
package workspacescope

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

// IDParam is the name of the conversation in the paths of scoped routes.
const IDParam = "runtime_conversation_id"

// Prefix replaces "/api" in the paths of scoped routes.
const Prefix = "/api/conversations/{" + IDParam + "}"

// Workspace is the directory of a conversation.
type Workspace interface {
	// Path is its absolute path.
	Path() string
	// Contains reports whether an absolute path is in it, as far as that can be said
	// without its Files, which refuse all others.
	Contains(path string) bool
	// Open opens its files. The error is fs.ErrNotExist if it is gone, and of kind
	// fault.Invalid if it was replaced by another one.
	Open(ctx context.Context) (workspace.Files, error)
}

// Directory is a Workspace on this machine, by its path alone.
type Directory string

// Path implements [Workspace].
func (d Directory) Path() string { return string(d) }

// Contains implements [Workspace]: links are followed.
func (d Directory) Contains(path string) bool { return realpath.Inside(string(d), path) }

// Open implements [Workspace].
func (d Directory) Open(context.Context) (workspace.Files, error) {
	files, err := workspace.Open(string(d))
	if err != nil {
		return nil, err
	}
	return files, nil
}

// WorkspaceOf returns a conversation's workspace, for its id as 32 hexadecimal
// digits; fault.NotFound if there is none.
type WorkspaceOf func(ctx context.Context, id string) (Workspace, error)

// Scope is the conversation that a request was made under.
type Scope struct {
	ID        string // 32 hexadecimal digits
	Workspace string // absolute path
	// Contains is the workspace's.
	Contains func(path string) bool
	Files    workspace.Files // until the handler returns; nil if the workspace is gone
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
		r.Handle = w.guard(r.Handle, func(r *http.Request) (string, error) { return rest.PathUUID(r, IDParam) })
		out = append(out, r)
	}
	return out
}

func (w WorkspaceOf) guard(next rest.Handler, idOf func(*http.Request) (string, error)) rest.Handler {
	return func(rw http.ResponseWriter, r *http.Request) error {
		id, err := idOf(r)
		if err != nil {
			return err
		}
		ws, err := w(r.Context(), id)
		if err != nil {
			return err
		}
		dir := ws.Path()
		q := rest.QueryOf(r) // of a repeated parameter it checks the value that handlers use
		for _, name := range []string{"path", "workspace_dir"} {
			if path := q.String(name, ""); q.Has(name) && (!filepath.IsAbs(path) || !ws.Contains(path)) {
				return Outside(name)
			}
		}
		files, err := ws.Open(r.Context())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			files = nil
		case err != nil:
			return err
		default:
			defer files.Close()
		}
		inner := r.WithContext(context.WithValue(r.Context(), key{}, Scope{ID: id, Workspace: dir, Contains: ws.Contains, Files: files}))
		err = next(rw, inner)
		r.Body = inner.Body // the server quotes the text it read
		return err
	}
}

// Confine returns global routes whose paths must be inside one workspace, which of returns
// for the id "". Locate returns where a path that a client names is.
func Confine(of WorkspaceOf, locate func(path string) string, global []rest.Route) []rest.Route {
	out := make([]rest.Route, 0, len(global))
	for _, r := range global {
		next := of.guard(r.Handle, func(*http.Request) (string, error) { return "", nil })
		r.Handle = func(w http.ResponseWriter, r *http.Request) error {
			inner := located(r, locate)
			if path := r.PathValue("path"); path != "" {
				path = locate("/" + strings.TrimLeft(path, "/")) // as %2F it still has its first slash
				ws, err := of(r.Context(), "")
				if err != nil {
					return err
				}
				if !ws.Contains(path) {
					return Outside("path")
				}
				inner.SetPathValue("path", strings.TrimPrefix(path, "/"))
			}
			err := next(w, inner)
			r.Body = inner.Body
			return err
		}
		out = append(out, r)
	}
	return out
}

// Locate returns scoped routes for clients that know a workspace by another path: locate
// returns where a path of theirs is on this machine.
func Locate(locate func(path string) string, scoped []rest.Route) []rest.Route {
	out := make([]rest.Route, 0, len(scoped))
	for _, r := range scoped {
		next := r.Handle
		r.Handle = func(w http.ResponseWriter, r *http.Request) error {
			inner := located(r, locate)
			err := next(w, inner)
			r.Body = inner.Body // the server quotes the text it read
			return err
		}
		out = append(out, r)
	}
	return out
}

// located is a request whose parameters name paths of this machine.
func located(r *http.Request, locate func(path string) string) *http.Request {
	q := r.URL.Query()
	for _, name := range []string{"path", "workspace_dir"} {
		for i, path := range q[name] {
			q[name][i] = locate(path)
		}
	}
	moved := *r.URL
	moved.RawQuery = q.Encode()
	inner := r.WithContext(r.Context())
	inner.URL = &moved
	return inner
}

// Outside is the error of a parameter with a path outside of the workspace.
func Outside(name string) error {
	return rest.Fail(http.StatusUnprocessableEntity, name+" must be inside the conversation workspace")
}

// CheckProject says whether a project's directory, which a request without a conversation
// names, can be read on this machine; nil stands for always.
type CheckProject func(dir string) error

// Check returns the error that the request is answered with; nil also where no project
// is asked for.
func (c CheckProject) Check(wanted bool, dir string) error {
	if c == nil || !wanted || dir == "" {
		return nil
	}
	return c(dir)
}
