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
	"cmp"
	"log/slog"
	"slices"

	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/plugin/installed"
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
	catalog   plugin.Catalog
	installed *installed.Store
}

// New returns the service.
func New(o Options) *Service {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Service{
		o: o, catalog: plugin.NewCatalog(o.Home, o.Persistence, ""),
		installed: installed.New(plugin.InstalledDir(o.Persistence), plugin.Describe),
	}
}

// Available returns the plugins of the user, installed and enabled ones
// included, and of a project, whose own replace the user's of the same name.
// projectDir may be empty.
func (s *Service) Available(user, project bool, projectDir string) []plugin.Plugin {
	var mine, theirs []plugin.Plugin
	var warnings, more []skill.Warning
	if user {
		mine, warnings = s.catalog.User()
	}
	if project && projectDir != "" {
		theirs, more = plugin.Project(projectDir)
	}
	for _, w := range slices.Concat(warnings, more) {
		s.o.Log.Warn("a plugin was left out", "path", w.Path, "err", w.Err)
	}
	for _, p := range theirs {
		if i := slices.IndexFunc(mine, func(o plugin.Plugin) bool { return o.Name == p.Name }); i >= 0 {
			mine[i] = p
		} else {
			mine = append(mine, p)
		}
	}
	for _, p := range mine {
		for _, w := range p.Warnings {
			s.o.Log.Warn("part of a plugin was left out", "path", w.Path, "err", w.Err)
		}
	}
	return mine
}
