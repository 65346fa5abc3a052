package plugin

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/plugin/installed"
	"github.com/deft-dev/deft/skill"
)

// Catalog finds the plugins of the user of this machine: directories that he wrote, and
// those that he installed and enabled (docs/openhands/sdk-features.md section 5). Those of a
// project are read by [Project]. It reads the file system with each call and never the
// network.
type Catalog struct {
	userDirs  []string
	installed *installed.Store
	copies    string
}

// NewCatalog returns the catalog of a user. persistence is OH_PERSISTENCE_DIR, or
// ~/.openhands. copies, unless empty, is where [Catalog.User] copies the plugins to:
// sandboxes show that directory, and hide persistence.
func NewCatalog(home, persistence, copies string) Catalog {
	c := Catalog{installed: installed.New(InstalledDir(persistence), Describe), copies: copies}
	if home != "" {
		c.userDirs = append(c.userDirs, filepath.Join(home, ".agents", "plugins"))
	}
	c.userDirs = append(c.userDirs, filepath.Join(persistence, "plugins"))
	return c
}

// InstalledDir returns where a user's plugins are installed, with their record.
func InstalledDir(persistence string) string {
	return filepath.Join(persistence, "plugins", "installed")
}

// Describe returns the description of the plugin in a directory. It has the errors of [Load].
func Describe(dir string) (name, version, description string, err error) {
	p, err := Load(dir)
	return p.Name, p.Version, p.Description, err
}

// User returns the user's plugins: of one name the one in ~/.agents/plugins, then the one in
// ~/.openhands/plugins, then the installed one. A plugin that cannot be read is a warning.
func (c Catalog) User() (all []Plugin, warnings []skill.Warning) {
	if c.installed == nil {
		return nil, nil
	}
	add := func(dir string) {
		p, err := c.load(dir)
		switch {
		case err != nil:
			warnings = append(warnings, skill.Warning{Path: dir, Err: err})
		case slices.ContainsFunc(all, func(o Plugin) bool { return o.Name == p.Name }):
			warnings = append(warnings, skill.Warning{Path: dir, Err: errors.New("another plugin has the name " + p.Name + " and is used")})
		default:
			all = append(all, p)
		}
	}
	for _, dir := range c.userDirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			warnings = append(warnings, skill.Warning{Path: dir, Err: err})
		}
		for _, e := range entries {
			at := filepath.Join(dir, e.Name())
			if info, err := os.Stat(at); err == nil && info.IsDir() && at != c.installed.Dir() {
				add(at)
			}
		}
	}
	list, err := c.installed.List()
	if err != nil {
		warnings = append(warnings, skill.Warning{Path: c.installed.Dir(), Err: err})
	}
	for _, i := range list {
		if i.Enabled {
			add(filepath.Join(c.installed.Dir(), i.Name))
		}
	}
	if c.copies != "" {
		forget(c.copies)
	}
	return all, warnings
}

// load reads a plugin, from its copy if copies are wanted.
func (c Catalog) load(dir string) (Plugin, error) {
	if c.copies != "" {
		at, err := shown(dir, c.copies)
		if err != nil {
			return Plugin{}, err
		}
		dir = at
	}
	return Load(dir)
}

// Keep is [Plugin.Keep] with the copies of the user's plugins.
func (c Catalog) Keep(p Plugin, allowed [sha256.Size]byte) (Plugin, error) {
	return p.Keep(c.copies, allowed)
}

// mostOfProject bounds the plugins of one project.
const mostOfProject = 100

// projectDirs are where a project keeps plugins, most important first.
var projectDirs = []string{".agents/plugins", ".openhands/plugins"}

// errOutside is the error of a link that leads out of the project, or nowhere.
var errOutside = fault.New(fault.Denied, "it cannot be read, or leads out of the project")

// Project returns the plugins of a project, which is not trusted: a directory that is
// reached through a link out of it is none.
func Project(dir string) (all []Plugin, warnings []skill.Warning) {
	for _, root := range skill.Roots(dir) {
		for _, sub := range projectDirs {
			found, more := within(root, sub)
			warnings = append(warnings, more...)
			for _, p := range found {
				if !slices.ContainsFunc(all, func(o Plugin) bool { return o.Name == p.Name }) {
					all = append(all, p)
				}
			}
		}
	}
	return all, warnings
}

func within(root, sub string) (all []Plugin, warnings []skill.Warning) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil
	}
	defer r.Close()
	dir, err := r.Open(sub)
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(mostOfProject)
	if err != nil {
		return nil, nil
	}
	slices.Sort(names)
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, nil
	}
	for _, name := range names {
		info, err := r.Stat(filepath.Join(sub, name))
		if err != nil {
			warnings = append(warnings, skill.Warning{Path: filepath.Join(root, sub, name), Err: errOutside})
			continue
		}
		if !info.IsDir() {
			continue
		}
		// Load opens by path; the link's target was just found inside.
		at, err := filepath.EvalSymlinks(filepath.Join(real, sub, name))
		if rel, outside := filepath.Rel(real, at); err != nil || outside != nil || !filepath.IsLocal(rel) {
			warnings = append(warnings, skill.Warning{Path: filepath.Join(root, sub, name), Err: errOutside})
			continue
		}
		at = filepath.Join(root, sub, name)
		p, err := Load(at)
		if err != nil {
			warnings = append(warnings, skill.Warning{Path: at, Err: err})
			continue
		}
		all = append(all, p)
	}
	return all, warnings
}
