// Package git serves the routes below /api/git: the changes in a working tree, and
// the repositories of the user at GitHub (docs/openhands/sdk-wire.md section 10).
// Below conversations there are Deft's own, with which people stage, discard and
// commit changes.
//
// # Usage
//
//	s := git.New(git.Options{Secret: secret, Forges: forges})
//	routes := append(s.Routes(), s.ScopedRoutes(workspaceOf)...)
//
// # Concurrency and failure
//
// A [Service] is safe for concurrent use. Where there is no repository the answer
// is an empty list, as the reference's; git's refusals are answered with 400.
package git

import (
	"context"
	"errors"
	"net/http"
	"os/exec"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/workspace"
)

// Options configure the service.
type Options struct {
	// Secret returns a stored secret, "" if there is none; nil has none.
	Secret func(ctx context.Context, name string) (string, error)
	// Forges opens GitHub; nil finds no token.
	Forges forge.Opener
	// Host is the address of GitHub; empty takes the public one.
	Host string
	// Run runs programs in the sandboxes of conversations; nil refuses to.
	Run Runner
	// Author is the author of people's commits; nil for Git's configuration.
	Author func(ctx context.Context) (Author, error)
}

// Service serves the routes under /api/git.
type Service struct{ o Options }

// New returns the service.
func New(o Options) *Service {
	return &Service{o: o}
}

const tag = "Git"

// Routes returns the operations under /api/git, and the older forms with the
// path in the URL.
func (s *Service) Routes() []rest.Route {
	return append(s.shared(),
		rest.Route{Method: "GET", Path: "/api/git/repositories/search", Tag: tag, Scope: rest.Sandbox, Handle: s.repositories},
		rest.Route{Method: "GET", Path: "/api/git/changes/{path...}", Tag: tag, Hidden: true, Scope: rest.Sandbox, Handle: s.changes},
		rest.Route{Method: "GET", Path: "/api/git/diff/{path...}", Tag: tag, Hidden: true, Scope: rest.Sandbox, Handle: s.diff},
	)
}

// ScopedRoutes returns the operations under each conversation.
func (s *Service) ScopedRoutes(of workspacescope.WorkspaceOf) []rest.Route {
	return of.Routes(append(s.shared(), s.work()...))
}

func (s *Service) shared() []rest.Route {
	return []rest.Route{
		{Method: "GET", Path: "/api/git/changes", Tag: tag, Scope: rest.Sandbox, Handle: s.changes},
		{Method: "GET", Path: "/api/git/diff", Tag: tag, Scope: rest.Sandbox, Handle: s.diff},
		{Method: "GET", Path: "/api/git/commits", Tag: tag, Scope: rest.Sandbox, Handle: s.commits},
		{Method: "GET", Path: "/api/git/commits/{sha}/changes", Tag: tag, Scope: rest.Sandbox, Handle: s.commitChanges},
	}
}

// pathOf returns the path in the URL, where it lacks its first slash, or in the
// query.
func pathOf(r *http.Request, q *rest.Query) string {
	if p := r.PathValue("path"); p != "" {
		return "/" + p
	}
	return q.Required("path")
}

const shaPattern = "^[0-9a-fA-F]{4,64}$"

var sha = lazyregexp.New(shaPattern)

// checkSHA checks the name of a commit.
func checkSHA(s string, loc ...any) error {
	if sha().MatchString(s) {
		return nil
	}
	return schema.Violations{{
		Type: "string_pattern_mismatch", Loc: loc, Msg: "String should match pattern '" + shaPattern + "'", Input: s,
		Ctx: map[string]any{"pattern": shaPattern},
	}}
}

func (s *Service) changes(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	path := pathOf(r, q)
	if err := q.Err(); err != nil {
		return err
	}
	changes, err := with(r, func(g workspace.Git) ([]gitview.Change, error) {
		return g.Changes(r.Context(), path, q.String("ref", ""))
	})
	return reply(w, changes, []gitview.Change{}, err)
}

// compare answers with the changed files and the extent of each change.
func (s *Service) compare(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	path := q.Required("path")
	if err := q.Err(); err != nil {
		return err
	}
	found, err := with(r, func(g workspace.Git) ([]gitview.Comparison, error) {
		return g.Compare(r.Context(), path, q.String("ref", ""))
	})
	return reply(w, found, []gitview.Comparison{}, err)
}

// reply answers with found, or with empty outside a repository.
func reply(w http.ResponseWriter, found, empty any, err error) error {
	var refused *gitview.CommandError
	var path *gitview.PathError
	switch {
	case errors.Is(err, gitview.ErrNoRepository):
		return rest.JSON(w, http.StatusOK, empty)
	case errors.As(err, &refused), errors.As(err, &path):
		return rest.Fail(http.StatusBadRequest, err.Error())
	case errors.Is(err, exec.ErrNotFound):
		return rest.Fail(http.StatusBadRequest, "Git command not found. Is git installed?")
	case errors.Is(err, gitview.ErrOutput):
		return rest.Fail(http.StatusBadRequest, "Git printed more than can be shown")
	case errors.Is(err, gitview.ErrMemory):
		return rest.Fail(http.StatusBadRequest, "Git needs too much memory for this repository")
	case err != nil:
		return err
	}
	return rest.JSON(w, http.StatusOK, found)
}

func (s *Service) diff(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	path := pathOf(r, q)
	if err := q.Err(); err != nil {
		return err
	}
	commit := q.String("commit", "")
	if q.Has("commit") {
		if err := checkSHA(commit, "query", "commit"); err != nil {
			return err
		}
		if q.Has("ref") {
			return rest.Fail(http.StatusBadRequest, "'ref' and 'commit' are mutually exclusive")
		}
		d, err := with(r, func(g workspace.Git) (gitview.Diff, error) { return g.CommitDiff(r.Context(), path, commit) })
		return reply(w, d, gitview.Diff{}, err)
	}
	d, err := with(r, func(g workspace.Git) (gitview.Diff, error) { return g.FileDiff(r.Context(), path, q.String("ref", "")) })
	return reply(w, d, gitview.Diff{}, err)
}

func (s *Service) commits(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	path, limit := q.Required("path"), q.Int("limit", 50, 1, 200)
	if err := q.Err(); err != nil {
		return err
	}
	page, err := with(r, func(g workspace.Git) (gitview.Commits, error) { return g.Commits(r.Context(), path, limit) })
	return reply(w, page, gitview.Commits{Commits: []gitview.Commit{}}, err)
}

func (s *Service) commitChanges(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	path, commit := q.Required("path"), r.PathValue("sha")
	if err := errors.Join(q.Err(), checkSHA(commit, "path", "sha")); err != nil {
		return err
	}
	changes, err := with(r, func(g workspace.Git) ([]gitview.Change, error) { return g.CommitChanges(r.Context(), path, commit) })
	return reply(w, changes, []gitview.Change{}, err)
}

// filesOf returns the files of a request's workspace. A workspace that is gone has no
// repository. Close them.
func filesOf(r *http.Request) (workspace.Files, error) {
	s, scoped := workspacescope.Of(r.Context())
	switch {
	case !scoped:
		files, err := workspace.Machine()
		if err != nil {
			return nil, err
		}
		return files, nil
	case s.Files == nil:
		return nil, gitview.ErrNoRepository
	}
	return borrowed{s.Files}, nil
}

// borrowed are files that their owner closes.
type borrowed struct{ workspace.Files }

// Close implements [workspace.Files].
func (borrowed) Close() error { return nil }

// with asks a question about the repositories of a request.
func with[T any](r *http.Request, ask func(workspace.Git) (T, error)) (found T, err error) {
	files, err := filesOf(r)
	if err != nil {
		return found, err
	}
	found, err = ask(files)
	return found, errors.Join(err, files.Close())
}

func (s *Service) repositories(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	q.Required("provider")
	provider := q.Enum("provider", "", providers...)
	limit := q.Int("limit", 100, 1, 100)
	if err := q.Err(); err != nil {
		return err
	}
	if provider != providers[0] {
		return rest.Fail(http.StatusBadRequest, "Repository discovery is not supported for provider '"+provider+"'")
	}
	token, err := s.token(r.Context())
	if err != nil {
		return err
	}
	if token == "" {
		return rest.JSON(w, http.StatusOK, Repositories{Items: []Repository{}, MissingToken: true})
	}
	h, err := s.o.Forges.Open(forge.Account{Provider: forge.GitHub, Host: s.o.Host, Token: llm.Secret(token)})
	if err != nil {
		return failed(err)
	}
	found, err := search(r.Context(), h, q.String("query", ""), limit, q.String("page_id", ""))
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, found)
}

func (s *Service) token(ctx context.Context) (string, error) {
	if s.o.Secret == nil || s.o.Forges == nil {
		return "", nil
	}
	for _, name := range tokenNames {
		if token, err := s.o.Secret(ctx, name); err != nil || token != "" {
			return token, err
		}
	}
	return "", nil
}
