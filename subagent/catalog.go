// Package subagent finds the agents to which an agent can delegate a task: the agents in
// files of a project or a user, and the built-in ones (docs/openhands/sdk-wire.md
// sections 5.4 and 10). Package session runs them.
//
// # Usage
//
//	catalog := subagent.NewCatalog(home, persistence)
//	all, warnings := catalog.List(subagent.Query{Project: true, User: true, Builtin: true, ProjectDir: dir})
//
// # Concurrency and failure
//
// Safe for concurrent use. A file that is not valid is left out, with a warning.
package subagent

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/skill"
)

//go:embed builtin/*.md
var builtin embed.FS

// GeneralPurpose is the agent that a task is for where none is named.
const GeneralPurpose = "general-purpose"

// The levels of an agent say where it was found. Of one name, a project's agent
// is used before a user's, and a user's before a built-in one.
const (
	Project = "project"
	User    = "user"
	Builtin = "builtin"
)

// Bounds on definitions.
const (
	maxFile   = 256 << 10
	maxAgents = 500 // of one directory
)

// Catalog finds agents. Make one with [NewCatalog]; the zero value has the built-in ones
// and the projects'.
type Catalog struct {
	userDirs []string
}

// NewCatalog returns the catalog of a user. persistence is OH_PERSISTENCE_DIR, or
// ~/.openhands.
func NewCatalog(home, persistence string) Catalog {
	return Catalog{userDirs: []string{filepath.Join(home, ".agents", "agents"), filepath.Join(persistence, "agents")}}
}

// projectDirs are where the agents of a project are, below its directory.
var projectDirs = []string{".agents/agents", ".openhands/agents"}

// Query says which agents are listed. ProjectDir may be empty.
type Query struct {
	User       bool   `json:"load_user"`
	Project    bool   `json:"load_project"`
	Builtin    bool   `json:"load_builtin"`
	ProjectDir string `json:"project_dir"`
}

// List returns the agents, one of each name, and the files that are none.
func (c Catalog) List(q Query) (list []Definition, warnings []skill.Warning) {
	list = []Definition{}
	seen := map[string]bool{}
	add := func(found []Definition, failed []skill.Warning) {
		warnings = append(warnings, failed...)
		for _, d := range found {
			if !seen[d.Name] {
				seen[d.Name] = true
				list = append(list, d)
			}
		}
	}
	if q.Project && q.ProjectDir != "" {
		add(project(q.ProjectDir))
	}
	if q.User {
		for _, dir := range c.userDirs {
			add(read(os.DirFS(dir), ".", dir, User))
		}
	}
	if q.Builtin {
		add(read(builtin, "builtin", "", Builtin))
	}
	return list, warnings
}

// Project returns the agents of a project, whose files are below fsys and shown as in dir.
// The project may be hostile: fsys follows no link out of it.
func (Catalog) Project(fsys fs.FS, dir string) (all []Definition, warnings []skill.Warning) {
	for _, sub := range projectDirs {
		found, failed := read(fsys, sub, filepath.Join(dir, sub), Project)
		all, warnings = append(all, found...), append(warnings, failed...)
	}
	return all, warnings
}

// project reads the agents of a project on this machine.
func project(dir string) ([]Definition, []skill.Warning) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil // there is no such project
	}
	defer root.Close()
	return Catalog{}.Project(root.FS(), dir)
}

// Plugin returns the agents in a directory of a plugin, whose files are below fsys, and shown
// as in shown.
func Plugin(fsys fs.FS, dir, shown string) ([]Definition, []skill.Warning) {
	return read(fsys, dir, shown, "")
}

func read(fsys fs.FS, dir, shown, level string) (found []Definition, warnings []skill.Warning) {
	warn := func(path string, err error) {
		warnings = append(warnings, skill.Warning{Path: path, Err: schema.Located(err)})
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			warn(shown, err)
		}
		return nil, warnings
	}
	for _, e := range entries {
		if !strings.EqualFold(path.Ext(e.Name()), ".md") || e.Name() == "README.md" || e.Name() == "readme.md" {
			continue
		}
		if len(found) == maxAgents {
			warn(shown, fault.New(fault.Limit, fmt.Sprintf("the agents after the first %d are left out", maxAgents)))
			break
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
			warn(filepath.Join(shown, e.Name()), err)
			continue
		}
		if level != "" {
			level := level
			d.Level, d.IsBuiltin = &level, level == Builtin
		}
		if shown != "" {
			source := filepath.ToSlash(filepath.Join(shown, e.Name()))
			d.Source = &source
		}
		found = append(found, d)
	}
	return found, warnings
}

var errNoFile = errors.New("a directory")

func readFile(fsys fs.FS, name string) (string, error) {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return "", fault.New(fault.Denied, "the file cannot be read, or leads out of its project or plugin").Because(err)
	case info.IsDir():
		return "", errNoFile
	case !info.Mode().IsRegular():
		return "", fault.New(fault.Invalid, "it is not a regular file")
	case info.Size() > maxFile:
		return "", fault.New(fault.Limit, fmt.Sprintf("longer than %d bytes", maxFile))
	}
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	text, ok := textfile.Prose(b)
	if err == nil && !ok {
		err = fault.New(fault.Invalid, "the file is not text")
	}
	return text, err
}
