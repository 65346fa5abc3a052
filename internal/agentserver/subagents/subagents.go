// Package subagents serves POST /api/sub-agents, which lists the agents to which
// an agent can delegate a task: those in files of a project or a user, and the
// built-in ones (docs/openhands/sdk-wire.md sections 5.4 and 10). It does not run
// them.
//
// # Usage
//
//	s := subagents.New(subagents.Options{Home: home, Persistence: dir, Log: log})
//	routes := s.Routes()
//
// # Concurrency and failure
//
// Safe for concurrent use. A file that is not valid is logged and left out.
package subagents

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/workspacescope"
	"github.com/deft-dev/deft/internal/rest"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

//go:embed builtin/*.md
var builtin embed.FS

// The levels of an agent say where it was found. Of one name, a project's agent
// is used before a user's, and a user's before a built-in one.
const (
	Project = "project"
	User    = "user"
	Builtin = "builtin"
)

// Bounds on what is read.
const (
	maxFile   = 256 << 10
	maxAgents = 500 // of one directory
)

// Options say where agents are.
type Options struct {
	Home        string       // of the user
	Persistence string       // OH_PERSISTENCE_DIR, or ~/.openhands
	Log         *slog.Logger // nil for none
	// CheckProject is asked before a project is read.
	CheckProject workspacescope.CheckProject
}

// Service lists agents. Make one with [New].
type Service struct{ o Options }

// New returns the service.
func New(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{o}
}

// Query says which agents are listed. ProjectDir may be empty.
type Query struct {
	User       bool   `json:"load_user"`
	Project    bool   `json:"load_project"`
	Builtin    bool   `json:"load_builtin"`
	ProjectDir string `json:"project_dir"`
}

// List returns the agents, one of each name.
func (s *Service) List(q Query) []Definition {
	list := []Definition{}
	seen := map[string]bool{}
	add := func(found []Definition) {
		for _, d := range found {
			if !seen[d.Name] {
				seen[d.Name] = true
				list = append(list, d)
			}
		}
	}
	if q.Project && q.ProjectDir != "" {
		for _, dir := range []string{".agents/agents", ".openhands/agents"} {
			add(s.project(q.ProjectDir, dir))
		}
	}
	if q.User {
		for _, dir := range []string{filepath.Join(s.o.Home, ".agents", "agents"), filepath.Join(s.o.Persistence, "agents")} {
			add(s.read(os.DirFS(dir), ".", dir, User))
		}
	}
	if q.Builtin {
		add(s.read(builtin, "builtin", "", Builtin))
	}
	return list
}

// project reads a directory of a project, which may be hostile: links do not
// lead out of it.
func (s *Service) project(dir, sub string) []Definition {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil // there is no such project
	}
	defer root.Close()
	return s.read(root.FS(), sub, filepath.Join(dir, sub), Project)
}

func (s *Service) read(fsys fs.FS, dir, shown, level string) []Definition {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.o.Log.Warn("agents were left out", "path", shown, "err", err)
		}
		return nil
	}
	var found []Definition
	for _, e := range entries {
		if !strings.EqualFold(path.Ext(e.Name()), ".md") || e.Name() == "README.md" || e.Name() == "readme.md" || len(found) == maxAgents {
			continue
		}
		text, err := readFile(fsys, path.Join(dir, e.Name()))
		if errors.Is(err, errNoFile) {
			continue
		}
		var d Definition
		if err == nil {
			d, err = Parse(strings.TrimSuffix(e.Name(), path.Ext(e.Name())), text)
		}
		if err != nil {
			s.o.Log.Warn("an agent was left out", "path", filepath.Join(shown, e.Name()), "err", err)
			continue
		}
		level := level
		d.Level, d.IsBuiltin = &level, level == Builtin
		if shown != "" {
			source := filepath.ToSlash(filepath.Join(shown, e.Name()))
			d.Source = &source
		}
		found = append(found, d)
	}
	return found
}

var errNoFile = errors.New("not a regular file")

func readFile(fsys fs.FS, name string) (string, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errNoFile
	case info.Size() > maxFile:
		return "", fault.New(fault.Limit, fmt.Sprintf("longer than %d bytes", maxFile))
	}
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	return string(b), err
}

var querySchema = spec.Reference("SubAgentsRequest", schema.Object{})

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	return []rest.Route{{Method: "POST", Path: "/api/sub-agents", Tag: "Sub Agents", Handle: func(w http.ResponseWriter, r *http.Request) error {
		var q Query
		if err := rest.Read(r, querySchema, &q); err != nil {
			return err
		}
		if err := s.o.CheckProject.Check(q.Project, q.ProjectDir); err != nil {
			return err
		}
		return rest.JSON(w, http.StatusOK, map[string]any{"agents": s.List(q)})
	}}}
}
