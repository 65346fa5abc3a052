// Package skills is the room of the Agent Server that lists and installs
// skills (sdk-wire.md section 10).
//
// # Usage
//
//	s := skills.New(skills.Options{Home: home, Persistence: dir})
//	routes := s.Routes()
//	catalogue := s.Catalogue() // what an agent profile can load
//
// # Network
//
// Public skills are those of a local copy, see [Options.Public]. Only Sync,
// installing and refreshing from a repository, and the repositories of
// organisations that a request names, use the network.
//
// # Concurrency and failure
//
// Safe for concurrent use. A source that cannot be read is logged and left
// out, so that the others are listed.
package skills

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/deft-dev/deft/internal/agentserver/skills/installation"
	"github.com/deft-dev/deft/skill"
)

// Options say where skills are.
type Options struct {
	Home        string // of the user
	Persistence string // OH_PERSISTENCE_DIR, or ~/.openhands
	// Public is a local copy of the public skills' repository
	// (EXTENSIONS_PATH); empty for the clone that Sync keeps below
	// Persistence.
	Public string
	// PublicURL and PublicRef are what Sync fetches; empty for the
	// reference's.
	PublicURL, PublicRef string
	Log                  *slog.Logger // nil for none
}

// Service lists and installs skills. Make one with [New].
type Service struct {
	o         Options
	installed *installation.Store
	syncing   sync.Mutex
}

// New returns the service.
func New(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.PublicURL == "" {
		o.PublicURL = "https://github.com/OpenHands/extensions"
	}
	if o.PublicRef == "" {
		o.PublicRef = os.Getenv("EXTENSIONS_REF")
	}
	if o.PublicRef == "" {
		o.PublicRef = "main"
	}
	dir := filepath.Join(o.Persistence, "skills", "installed")
	return &Service{o: o, installed: installation.New(dir, func(at string) (installation.Described, error) {
		s, err := skill.LoadOne(at)
		if err != nil {
			return installation.Described{}, err
		}
		d := installation.Described{Name: s.Name, Version: s.Version}
		if s.Description != nil {
			d.Description = *s.Description
		}
		return d, nil
	})}
}

// Organisation is a repository with skills of an organisation.
type Organisation struct {
	URL  string // may hold credentials
	Name string
}

// Host is a web application that the sandbox exposes.
type Host struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Port int    `json:"port"`
}

// Query says which sources are loaded.
type Query struct {
	Public, User, Project, Organisations bool
	ProjectDir                           string
	Repositories                         []Organisation
	Hosts                                []Host
	// Marketplace is the file of the public repository that says which of its
	// skills are meant; empty for all.
	Marketplace string
}

// Sources counts the skills of each source, before they are merged.
type Sources struct {
	Sandbox       int `json:"sandbox"`
	Marketplaces  int `json:"registered_marketplaces"`
	Base          int `json:"sdk_base"` // public and user
	Organisations int `json:"org"`
	Project       int `json:"project"`
}

// Load returns the skills of all sources that the query asks for. Later ones
// replace earlier ones of the same name: hosts, public, user, organisations,
// project.
func (s *Service) Load(ctx context.Context, q Query) ([]skill.Skill, Sources) {
	var n Sources
	hosts := work(q.Hosts)
	var base, orgs, project []skill.Skill
	if q.Public {
		base = s.public(q.Marketplace)
	}
	if q.User {
		base = override(base, s.User())
	}
	if q.Organisations {
		for _, o := range q.Repositories {
			orgs = override(orgs, s.organisation(ctx, o))
		}
	}
	if q.Project && q.ProjectDir != "" {
		list, warnings := skill.LoadProject(q.ProjectDir)
		s.warn(warnings)
		project = list
	}
	n.Sandbox, n.Base, n.Organisations, n.Project = len(hosts), len(base), len(orgs), len(project)
	return override(override(override(hosts, base), orgs), project), n
}

// User returns the skills of the user, installed ones included.
func (s *Service) User() []skill.Skill {
	list, warnings := skill.LoadUser(skill.UserDirs(s.o.Home, s.o.Persistence))
	s.warn(warnings)
	return list
}

// Public returns the public skills that are on this machine.
func (s *Service) Public() []skill.Skill { return s.public(defaultMarketplace) }

// Listed is a skill of the catalogue with its origin.
type Listed struct {
	skill.Info
	Origin string `json:"origin"` // public or user
}

// Catalogue returns what an agent profile can load.
func (s *Service) Catalogue() []Listed {
	user := s.User()
	all := override(s.Public(), user)
	listed := make([]Listed, 0, len(all))
	for _, one := range all {
		origin := "public"
		if slices.ContainsFunc(user, func(u skill.Skill) bool { return u.Name == one.Name }) {
			origin = "user"
		}
		listed = append(listed, Listed{one.Info(), origin})
	}
	return listed
}

func (s *Service) warn(warnings []skill.Warning) {
	for _, w := range warnings {
		s.o.Log.Warn("skill left out", "path", w.Path, "err", w.Err)
	}
}

// override returns both lists; what later has replaces, in its place, what
// earlier has of the same name.
func override(earlier, later []skill.Skill) []skill.Skill {
	out := slices.Clone(earlier)
	at := map[string]int{}
	for i, s := range out {
		at[s.Name] = i
	}
	for _, s := range later {
		if i, ok := at[s.Name]; ok {
			out[i] = s
			continue
		}
		at[s.Name] = len(out)
		out = append(out, s)
	}
	return out
}

// work makes a skill of the hosts that the sandbox exposes for web
// applications; others are not the agent's business.
func work(hosts []Host) []skill.Skill {
	var b strings.Builder
	for _, h := range hosts {
		if strings.HasPrefix(h.Name, "WORKER_") {
			b.WriteString("\n* " + h.URL + " (port " + itoa(h.Port) + ")")
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return []skill.Skill{{
		Name: "work_hosts", Version: "1.0.0",
		Content: "A web application of yours can be reached by the user at these hosts, each of them on its port:" + b.String(),
	}}
}

// organisation clones a repository, reads its skills and removes it.
func (s *Service) organisation(ctx context.Context, o Organisation) []skill.Skill {
	temp, err := os.MkdirTemp("", "deft-skills-*")
	if err != nil {
		s.o.Log.Warn("skills of an organisation", "organisation", o.Name, "err", err)
		return nil
	}
	defer os.RemoveAll(temp)
	if _, err := installation.Clone(ctx, o.URL, "", filepath.Join(temp, "r")); err != nil {
		// The error may be about a repository that is simply not there.
		s.o.Log.Info("skills of an organisation", "organisation", o.Name, "err", err)
		return nil
	}
	list, warnings := skill.LoadRepository(filepath.Join(temp, "r"), "skills", "microagents")
	s.warn(warnings)
	return list
}

// defaultMarketplace is the file that names the public skills.
const defaultMarketplace = "marketplaces/default.json"

// publicDir is the local copy of the public skills.
func (s *Service) publicDir() string {
	if s.o.Public != "" {
		return s.o.Public
	}
	return filepath.Join(s.o.Persistence, "cache", "skills", "public-skills")
}

func (s *Service) public(marketplace string) []skill.Skill {
	dir := s.publicDir()
	if _, err := os.Stat(filepath.Join(dir, "skills")); err != nil {
		return nil // never synced
	}
	list, warnings := skill.LoadRepository(dir, "skills")
	s.warn(warnings)
	if marketplace == "" {
		return list
	}
	names, ok := marketplaceNames(dir, marketplace)
	switch {
	case ok:
		return slices.DeleteFunc(list, func(one skill.Skill) bool { return !names[one.Name] })
	case marketplace == defaultMarketplace:
		return list
	}
	s.o.Log.Warn("the marketplace cannot be read", "path", marketplace)
	return nil
}

// marketplaceNames reads which plugins a marketplace file lists.
func marketplaceNames(dir, file string) (map[string]bool, bool) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	b, err := root.ReadFile(file)
	var market struct {
		Plugins []struct {
			Name string `json:"name"`
		} `json:"plugins"`
	}
	if err != nil || json.Unmarshal(b, &market) != nil {
		return nil, false
	}
	names := map[string]bool{}
	for _, p := range market.Plugins {
		names[p.Name] = true
	}
	return names, true
}

// Sync fetches the public skills. What was there stays when it fails.
func (s *Service) Sync(ctx context.Context) error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	cache := filepath.Join(s.o.Persistence, "cache", "skills")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(cache, ".sync-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	fresh := filepath.Join(temp, "fresh")
	if _, err := installation.Clone(ctx, s.o.PublicURL, s.o.PublicRef, fresh); err != nil {
		return err
	}
	kept := filepath.Join(cache, "public-skills")
	if err := os.Rename(kept, filepath.Join(temp, "old")); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Rename(fresh, kept)
}
