package skill

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/fault"
)

// DefaultMarketplace is the file of the public repository that lists the
// skills that are used unless another marketplace is named.
const DefaultMarketplace = "marketplaces/default.json"

// Catalog finds the skills that do not belong to a project: the user's, and
// the public ones of a local copy of their repository. It reads the file
// system with each call and never the network.
type Catalog struct {
	// UserDirs are the directories of the user's skills, see [UserDirs].
	UserDirs []string
	// PublicDir is a local copy of the public repository. Where it does not
	// exist there are no public skills.
	PublicDir string
}

// PublicDir returns where the clone of the public skills is kept. persistence
// is OH_PERSISTENCE_DIR, or ~/.openhands.
func PublicDir(persistence string) string {
	return filepath.Join(persistence, "cache", "skills", "public-skills")
}

// NewCatalog returns the catalog of a user. persistence is OH_PERSISTENCE_DIR, or
// ~/.openhands. public is a copy of the public repository (EXTENSIONS_PATH); empty
// for the clone in persistence.
func NewCatalog(home, persistence, public string) Catalog {
	if public == "" {
		public = PublicDir(persistence)
	}
	return Catalog{UserDirs: UserDirs(home, persistence), PublicDir: public}
}

// User returns the user's skills, installed ones included.
func (c Catalog) User() ([]Skill, []Warning) { return LoadUser(c.UserDirs) }

// Public returns the public skills that a marketplace of the repository lists;
// all of them for "". Without the default marketplace all are used; any other
// that cannot be read is a Warning, and there are no public skills.
func (c Catalog) Public(marketplace string) ([]Skill, []Warning) {
	if c.PublicDir == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(c.PublicDir, "skills")); err != nil {
		return nil, nil
	}
	all, warnings := LoadRepository(c.PublicDir, "skills")
	if marketplace == "" {
		return all, warnings
	}
	names, err := marketplaceNames(c.PublicDir, marketplace)
	switch {
	case err == nil:
		return slices.DeleteFunc(all, func(s Skill) bool { return !names[s.Name] }), warnings
	case marketplace == DefaultMarketplace && errors.Is(err, fs.ErrNotExist):
		return all, warnings
	}
	return nil, append(warnings, Warning{Path: filepath.Join(c.PublicDir, marketplace), Err: err})
}

// Listed is a skill of the catalog.
type Listed struct {
	Skill
	Public bool // it comes from the public repository
}

// List returns the public and the user's skills; a user's skill replaces a
// public one of its name. users are the warnings about the user's files, others about the
// public repository.
func (c Catalog) List(marketplace string) (listed []Listed, users, others []Warning) {
	public, others := c.Public(marketplace)
	user, users := c.User()
	all := Override(public, user)
	listed = make([]Listed, len(all))
	for i, s := range all {
		own := slices.ContainsFunc(user, func(u Skill) bool { return u.Name == s.Name })
		listed[i] = Listed{s, !own}
	}
	return listed, users, others
}

// marketplaceNames returns the names that a marketplace file lists.
func marketplaceNames(dir, file string) (map[string]bool, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	l := &loader{fsys: root.FS(), at: dir}
	text, err := l.read(filepath.ToSlash(filepath.Clean(file)))
	if err != nil {
		return nil, err
	}
	var market struct {
		Plugins []struct {
			Name string `json:"name"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal([]byte(text), &market); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read the marketplace")
	}
	names := make(map[string]bool, len(market.Plugins))
	for _, p := range market.Plugins {
		names[p.Name] = true
	}
	return names, nil
}
