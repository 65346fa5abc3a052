// Package skills serves the routes below /api/skills: it lists the skills of
// this machine, of a project and of organisations, installs skills, and fetches
// the public ones (docs/openhands/sdk-wire.md section 10).
//
// # Usage
//
//	s := skills.New(skills.Options{Home: home, Persistence: dir})
//	routes := s.Routes()
//	skills, err := s.ProfileSkills(ctx) // what an agent profile can load
//
// # Network
//
// Public skills come from a local copy, see [Options.Public]. Only Sync,
// installing and refreshing from a repository, and the repositories of
// organisations that a request names use the network.
//
// # Concurrency and failure
//
// Safe for concurrent use. A source that cannot be read is logged and left
// out, so that the others are listed.
package skills

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/plugin/installed"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/installation"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
)

// Options say where skills are.
type Options struct {
	Home        string // of the user
	Persistence string // OH_PERSISTENCE_DIR, or ~/.openhands
	// Public is a local copy of the public skills' repository
	// (EXTENSIONS_PATH); empty for the clone that Sync keeps below
	// Persistence.
	Public string
	// PublicURL and PublicRef are the source of Sync; empty for the reference's.
	PublicURL, PublicRef string
	Log                  *slog.Logger // nil for none
	// CheckProject is asked before a project is read.
	CheckProject workspacescope.CheckProject
	// Plugins fetches from marketplaces. Marketplaces are the server's own; requests name further ones.
	Plugins      plugin.Loader
	Marketplaces []plugin.Registration
}

// Service lists and installs skills. Make one with [New].
type Service struct {
	o         Options
	catalog   skill.Catalog
	installed *installed.Store
	syncing   sync.Mutex
}

// New returns the service.
func New(o Options) *Service {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.PublicURL = cmp.Or(o.PublicURL, "https://github.com/OpenHands/extensions")
	if o.PublicRef == "" {
		o.PublicRef = os.Getenv("EXTENSIONS_REF")
	}
	o.PublicRef = cmp.Or(o.PublicRef, "main")
	catalog := skill.NewCatalog(o.Home, o.Persistence, o.Public)
	dir := filepath.Join(o.Persistence, "skills", "installed")
	return &Service{o: o, catalog: catalog, installed: installed.New(dir, describe)}
}

func describe(dir string) (name, version, description string, err error) {
	s, err := skill.LoadOne(dir)
	return s.Name, s.Version, optional.Value(s.Description), err
}

// Organisation is a repository with skills of an organisation.
type Organisation struct {
	URL  string `json:"org_repo_url"` // may hold credentials
	Name string `json:"org_name"`
}

// Host is a web application that the sandbox exposes.
type Host struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Port int    `json:"port"`
}

// Query says which sources are loaded.
type Query struct {
	Public        bool           `json:"load_public"`
	User          bool           `json:"load_user"`
	Project       bool           `json:"load_project"`
	Organisations bool           `json:"load_org"`
	ProjectDir    string         `json:"project_dir"`
	Repositories  []Organisation `json:"org_configs"`
	// Marketplace is the file of the public repository that lists the skills
	// to use; empty for all.
	Marketplace string `json:"marketplace_path"`
	// Registered are marketplaces whose skills and plugins each conversation gets.
	Registered []json.RawMessage `json:"registered_marketplaces"`
	Sandbox    struct {
		Hosts []Host `json:"exposed_urls"`
	} `json:"sandbox_config"`
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
// replace earlier ones of the same name: hosts, marketplaces, public, user, organisations,
// project. An error is about the marketplaces of the query.
func (s *Service) Load(ctx context.Context, q Query) ([]skill.Skill, Sources, error) {
	var n Sources
	registered, err := s.registered(ctx, q.Registered)
	if err != nil {
		return nil, n, err
	}
	hosts := workHosts(q.Sandbox.Hosts)
	var base, orgs, project []skill.Skill
	if q.Public {
		list, warnings := s.catalog.Public(q.Marketplace)
		s.warn(warnings)
		base = list
	}
	if q.User {
		list, warnings := s.catalog.User()
		s.warn(warnings)
		base = skill.Override(base, list)
	}
	if q.Organisations {
		for _, o := range q.Repositories {
			orgs = skill.Override(orgs, s.organisation(ctx, o))
		}
	}
	if q.Project && q.ProjectDir != "" {
		list, warnings := skill.LoadProject(q.ProjectDir)
		s.warn(warnings)
		project = list
	}
	n.Sandbox, n.Marketplaces, n.Base, n.Organisations, n.Project = len(hosts), len(registered), len(base), len(orgs), len(project)
	all := hosts
	for _, more := range [][]skill.Skill{registered, base, orgs, project} {
		all = skill.Override(all, more)
	}
	return all, n, nil
}

// Listed is a skill of the catalog as clients see it.
type Listed struct {
	skill.Info
	Origin string `json:"origin"` // public or user
}

// list returns the skills that an agent profile can load.
func (s *Service) list() []skill.Listed {
	all, users, others := s.catalog.List(skill.DefaultMarketplace)
	s.warn(slices.Concat(users, others))
	return all
}

// Catalog returns the skills that an agent profile can load.
func (s *Service) Catalog() []Listed {
	all := s.list()
	listed := make([]Listed, len(all))
	for i, one := range all {
		listed[i] = Listed{one.Info(), "user"}
		if one.Public {
			listed[i].Origin = "public"
		}
	}
	return listed
}

// ProfileSkills returns the skills that an agent profile can load, each as
// spec.SkillSchema describes it.
func (s *Service) ProfileSkills(context.Context) ([]*schema.Map, error) {
	all := s.list()
	out := make([]*schema.Map, len(all))
	for i, one := range all {
		raw, err := json.Marshal(one.Skill)
		if err != nil {
			return nil, fmt.Errorf("encode the skill %s: %w", one.Name, err)
		}
		doc, err := schema.Parse(raw)
		if err == nil {
			out[i], err = spec.SkillSchema.Check(doc, schema.Reading{}, one.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("describe the skill %s: %w", one.Name, err)
		}
	}
	return out, nil
}

// PublicNames returns the names of the public skills among [Service.ProfileSkills].
func (s *Service) PublicNames(context.Context) ([]string, error) {
	names := []string{}
	for _, one := range s.list() {
		if one.Public {
			names = append(names, one.Name)
		}
	}
	return names, nil
}

func (s *Service) warn(warnings []skill.Warning) {
	for _, w := range warnings {
		s.o.Log.Warn("a skill was left out", "path", w.Path, "err", w.Err)
	}
}

// workHosts makes a skill of the hosts that the sandbox exposes for the agent's
// web applications.
func workHosts(hosts []Host) []skill.Skill {
	var b strings.Builder
	for _, h := range hosts {
		if strings.HasPrefix(h.Name, "WORKER_") {
			b.WriteString("\n* " + h.URL + " (port " + strconv.Itoa(h.Port) + ")")
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
	if _, err := gitsource.Clone(ctx, o.URL, "", filepath.Join(temp, "r")); err != nil {
		// The error may be about a repository that is simply not there.
		s.o.Log.Info("skills of an organisation", "organisation", o.Name, "err", err)
		return nil
	}
	list, warnings := skill.LoadOrganisation(filepath.Join(temp, "r"))
	s.warn(warnings)
	return list
}

// Sync fetches the public skills. The present ones stay when it fails.
func (s *Service) Sync(ctx context.Context) error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	kept := skill.PublicDir(s.o.Persistence)
	cache := filepath.Dir(kept)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(cache, ".sync-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	fresh := filepath.Join(temp, "fresh")
	if _, err := gitsource.Clone(ctx, s.o.PublicURL, s.o.PublicRef, fresh); err != nil {
		return err
	}
	if err := os.Rename(kept, filepath.Join(temp, "old")); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Rename(fresh, kept)
}

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	const tag = "Skills"
	own := []rest.Route{
		{Method: "POST", Path: "/api/skills", Tag: tag, Scope: rest.Account, Handle: s.postList},
		{Method: "GET", Path: "/api/skills/catalog", Tag: tag, Scope: rest.Account, Handle: s.getCatalog},
		{Method: "POST", Path: "/api/skills/sync", Tag: tag, Scope: rest.Account, Handle: s.postSync},
		{Method: "GET", Path: "/api/skills/marketplace", Tag: tag, Unsupported: true, Scope: rest.Account, Handle: s.getMarketplace},
	}
	return append(own, installation.API{
		Store: s.installed, Noun: "skill", Invalid: "the source contains a valid SKILL.md", Log: s.o.Log,
		Show: func(i installed.Info) any { return installation.ShapeOf(i) },
	}.Routes()...)
}

var listSchema = spec.Reference("SkillsRequest", schema.Object{})

func (s *Service) postList(w http.ResponseWriter, r *http.Request) error {
	var q Query
	if err := rest.Read(r, listSchema, &q); err != nil {
		return err
	}
	if err := s.o.CheckProject.Check(q.Project, q.ProjectDir); err != nil {
		return err
	}
	found, sources, err := s.Load(r.Context(), q)
	if err != nil {
		return err
	}
	infos := make([]skill.Info, 0, len(found))
	for _, one := range found {
		infos = append(infos, one.Info())
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"skills": infos, "sources": sources})
}

func (s *Service) getCatalog(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, map[string]any{"skills": s.Catalog()})
}

func (s *Service) postSync(w http.ResponseWriter, r *http.Request) error {
	answer := struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}{"success", "Skills repository synced successfully"}
	if err := s.Sync(r.Context()); err != nil {
		s.o.Log.Warn("sync the public skills", "err", err)
		answer.Status, answer.Message = "error", "Sync failed: "+err.Error()
	}
	return rest.JSON(w, http.StatusOK, answer)
}

// getMarketplace lists nothing, as the reference does when it cannot fetch its
// marketplace: Deft does not read marketplaces.
func (s *Service) getMarketplace(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, map[string]any{"skills": []any{}})
}
