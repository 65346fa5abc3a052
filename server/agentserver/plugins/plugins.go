// Package plugins serves the routes below /api/plugins: it lists, fetches and
// installs plugins (docs/openhands/sdk-wire.md section 10).
//
// # Usage
//
//	s := plugins.New(plugins.Options{Home: home, Persistence: dir})
//	routes := s.Routes()
//
// # Network
//
// Only fetching, installing and refreshing from a repository use it, because
// the user asked for that.
//
// # Concurrency and failure
//
// Safe for concurrent use. A plugin that cannot be read is logged and left
// out. Nothing of a plugin is run.
package plugins

import (
	"log/slog"
	"os"
	"path/filepath"
	"sort"

	"github.com/deft-dev/deft/server/agentserver/installation"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/skill"
)

// Options say where plugins are.
type Options struct {
	Home        string       // of the user
	Persistence string       // OH_PERSISTENCE_DIR, or ~/.openhands
	Log         *slog.Logger // nil for none
	// CheckProject is asked before a project is read.
	CheckProject workspacescope.CheckProject
}

// Service lists and installs plugins. Make one with [New].
type Service struct {
	o         Options
	installed *installation.Store
}

// New returns the service.
func New(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	dir := filepath.Join(o.Persistence, "plugins", "installed")
	return &Service{o: o, installed: installation.New(dir, func(at string) (installation.Described, error) {
		p, err := Load(at)
		return installation.Described{Name: p.Name, Version: p.Version, Description: p.Description}, err
	})}
}

// Available returns the plugins of the user, installed and enabled ones
// included, and of a project, whose own replace the user's of the same name.
// projectDir may be empty.
func (s *Service) Available(user, project bool, projectDir string) []Plugin {
	var mine, theirs []Plugin
	if user {
		for _, dir := range []string{filepath.Join(s.o.Home, ".agents", "plugins"), filepath.Join(s.o.Persistence, "plugins")} {
			mine = add(mine, s.directory(dir))
		}
		mine = add(mine, s.enabled())
	}
	if project && projectDir != "" {
		for _, root := range skill.Roots(projectDir) {
			for _, sub := range []string{".agents/plugins", ".openhands/plugins"} {
				theirs = add(theirs, s.within(root, sub))
			}
		}
	}
	return override(mine, theirs)
}

// add appends the plugins whose names are not taken.
func add(list, more []Plugin) []Plugin {
	seen := map[string]bool{}
	for _, p := range list {
		seen[p.Name] = true
	}
	for _, p := range more {
		if !seen[p.Name] {
			seen[p.Name] = true
			list = append(list, p)
		}
	}
	return list
}

// override puts the later plugins in the place of the earlier ones of the same
// name.
func override(earlier, later []Plugin) []Plugin {
	at := map[string]int{}
	for i, p := range earlier {
		at[p.Name] = i
	}
	for _, p := range later {
		if i, ok := at[p.Name]; ok {
			earlier[i] = p
			continue
		}
		earlier = append(earlier, p)
	}
	return earlier
}

func (s *Service) enabled() []Plugin {
	infos, err := s.installed.List()
	if err != nil {
		s.o.Log.Warn("list the installed plugins", "err", err)
	}
	var list []Plugin
	for _, i := range infos {
		if i.Enabled {
			list = s.load(list, filepath.Join(s.installed.Dir(), i.Name))
		}
	}
	return list
}

// directory loads each directory of a directory of the user's.
func (s *Service) directory(dir string) []Plugin {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the user has none
	}
	var list []Plugin
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if info, err := os.Stat(at); err == nil && info.IsDir() && at != s.installed.Dir() {
			list = s.load(list, at)
		}
	}
	return list
}

// within loads the plugins of a project, which is not trusted: a directory
// that is reached through a link out of it is none.
func (s *Service) within(root, sub string) []Plugin {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer r.Close()
	dir, err := r.Open(sub)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(1000)
	if err != nil {
		return nil
	}
	sort.Strings(names)
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil
	}
	var list []Plugin
	for _, name := range names {
		if info, err := r.Stat(filepath.Join(sub, name)); err != nil || !info.IsDir() {
			continue
		}
		// Load opens by path; the link's target was just found inside.
		if at, err := filepath.EvalSymlinks(filepath.Join(real, sub, name)); err == nil && inside(real, at) {
			list = s.load(list, filepath.Join(root, sub, name))
		}
	}
	return list
}

func inside(root, at string) bool {
	rel, err := filepath.Rel(root, at)
	return err == nil && filepath.IsLocal(rel)
}

func (s *Service) load(list []Plugin, dir string) []Plugin {
	p, err := Load(dir)
	if err != nil {
		s.o.Log.Warn("a plugin was left out", "path", dir, "err", err)
		return list
	}
	for _, w := range p.Warnings {
		s.o.Log.Warn("part of a plugin was left out", "path", w.Path, "err", w.Err)
	}
	return append(list, p)
}
