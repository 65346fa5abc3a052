package skills

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/skills/installation"
	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/skill"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Routes returns the operations of the room.
func (s *Service) Routes() []rest.Route {
	const tag = "Skills"
	return []rest.Route{
		{Method: "POST", Path: "/api/skills", Tag: tag, Handle: s.list},
		{Method: "GET", Path: "/api/skills/catalog", Tag: tag, Handle: s.catalogue},
		{Method: "POST", Path: "/api/skills/sync", Tag: tag, Handle: s.sync},
		{Method: "GET", Path: "/api/skills/marketplace", Tag: tag, Handle: s.marketplace},
		{Method: "POST", Path: "/api/skills/install", Tag: tag, Handle: s.install},
		{Method: "GET", Path: "/api/skills/installed", Tag: tag, Handle: s.listInstalled},
		{Method: "GET", Path: "/api/skills/installed/{skill_name}", Tag: tag, Handle: s.get},
		{Method: "PATCH", Path: "/api/skills/installed/{skill_name}", Tag: tag, Handle: s.enable},
		{Method: "DELETE", Path: "/api/skills/installed/{skill_name}", Tag: tag, Handle: s.uninstall},
		{Method: "POST", Path: "/api/skills/installed/{skill_name}/refresh", Tag: tag, Handle: s.refresh},
	}
}

func (s *Service) list(w http.ResponseWriter, r *http.Request) error {
	marketplace := defaultMarketplace
	body := struct {
		Public      bool    `json:"load_public"`
		User        bool    `json:"load_user"`
		Project     bool    `json:"load_project"`
		Org         bool    `json:"load_org"`
		Marketplace *string `json:"marketplace_path"`
		ProjectDir  *string `json:"project_dir"`
		OrgConfigs  []struct {
			Repository *string `json:"repository"`
			Provider   *string `json:"provider"`
			URL        *string `json:"org_repo_url"`
			Name       *string `json:"org_name"`
		} `json:"org_configs"`
		Sandbox *struct {
			Hosts []struct {
				Name *string `json:"name"`
				URL  *string `json:"url"`
				Port *int    `json:"port"`
			} `json:"exposed_urls"`
		} `json:"sandbox_config"`
	}{Public: true, User: true, Project: true, Org: true, Marketplace: &marketplace}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	q := Query{Public: body.Public, User: body.User, Project: body.Project, Organisations: body.Org}
	if body.ProjectDir != nil {
		q.ProjectDir = *body.ProjectDir
	}
	if body.Marketplace != nil {
		q.Marketplace = *body.Marketplace
	}
	var wrong rest.Violations
	need := func(given bool, loc ...any) {
		if !given {
			wrong = append(wrong, rest.Missing(append([]any{"body"}, loc...)...)...)
		}
	}
	for i, o := range body.OrgConfigs {
		need(o.Repository != nil, "org_configs", i, "repository")
		need(o.Provider != nil, "org_configs", i, "provider")
		need(o.URL != nil, "org_configs", i, "org_repo_url")
		need(o.Name != nil, "org_configs", i, "org_name")
		if len(wrong) == 0 {
			q.Repositories = append(q.Repositories, Organisation{*o.URL, *o.Name})
		}
	}
	if body.Sandbox != nil {
		for i, h := range body.Sandbox.Hosts {
			need(h.Name != nil, "sandbox_config", "exposed_urls", i, "name")
			need(h.URL != nil, "sandbox_config", "exposed_urls", i, "url")
			need(h.Port != nil, "sandbox_config", "exposed_urls", i, "port")
			if len(wrong) == 0 {
				q.Hosts = append(q.Hosts, Host{*h.Name, *h.URL, *h.Port})
			}
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	found, sources := s.Load(r.Context(), q)
	infos := make([]skill.Info, 0, len(found))
	for _, one := range found {
		infos = append(infos, one.Info())
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"skills": infos, "sources": sources})
}

func (s *Service) catalogue(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, map[string]any{"skills": s.Catalogue()})
}

func (s *Service) sync(w http.ResponseWriter, r *http.Request) error {
	answer := struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}{"success", "Skills repository synced successfully"}
	if err := s.Sync(r.Context()); err != nil {
		s.o.Log.Warn("sync the public skills", "err", err)
		answer.Status, answer.Message = "error", "Failed to sync skills repository"
	}
	return rest.JSON(w, http.StatusOK, answer)
}

// marketplace lists nothing: the catalogue of a marketplace comes with
// marketplaces. It is what the reference answers when it cannot reach its own.
func (s *Service) marketplace(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, map[string]any{"skills": []any{}})
}

// shown is an installed skill as the API shows it.
type shown struct {
	Name        string  `json:"name"`
	Version     string  `json:"version"`
	Description string  `json:"description"`
	Enabled     bool    `json:"enabled"`
	Source      string  `json:"source"`
	ResolvedRef *string `json:"resolved_ref"`
	RepoPath    *string `json:"repo_path"`
	InstalledAt string  `json:"installed_at"`
	InstallPath string  `json:"install_path"`
}

func show(i installation.Info) shown {
	return shown{
		i.Name, i.Version, i.Description, i.Enabled, installation.Shown(i.Source),
		i.ResolvedRef, i.RepoPath, i.InstalledAt, i.InstallPath,
	}
}

func (s *Service) install(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source   *string `json:"source"`
		Ref      *string `json:"ref"`
		RepoPath *string `json:"repo_path"`
		Force    bool    `json:"force"`
	}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	if body.Source == nil {
		return rest.Missing("body", "source")
	}
	if err := rest.NotEmpty(*body.Source, "body", "source"); err != nil {
		return err
	}
	from := installation.Source{Source: *body.Source, Ref: body.Ref, RepoPath: body.RepoPath}
	info, err := s.installed.Install(r.Context(), from, body.Force)
	switch {
	case errors.Is(err, installation.ErrFetch):
		s.o.Log.Info("skill not installed", "err", err)
		return rest.Fail(http.StatusBadRequest, "Failed to fetch skill source. Check that the source is valid.")
	case fault.Is(err, fault.Conflict):
		return rest.Fail(http.StatusConflict, "Skill already installed. Use force=true to overwrite.")
	case fault.Is(err, fault.Invalid):
		s.o.Log.Info("skill not installed", "err", err)
		return rest.Fail(http.StatusUnprocessableEntity, "Invalid skill. Ensure the source contains a valid SKILL.md.")
	case err != nil:
		return err
	}
	return rest.JSON(w, http.StatusOK, show(info))
}

func (s *Service) listInstalled(w http.ResponseWriter, _ *http.Request) error {
	infos, err := s.installed.List()
	if err != nil {
		return err
	}
	list := make([]shown, 0, len(infos))
	for _, i := range infos {
		list = append(list, show(i))
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"skills": list})
}

func named(r *http.Request) (string, error) {
	return rest.PathMatch(r, "skill_name", installation.Name, installation.NamePattern)
}

// absent words the error of a skill that is not installed.
func absent(name string, err error) error {
	if fault.Is(err, fault.NotFound) {
		return rest.Fail(http.StatusNotFound, fmt.Sprintf("Skill '%s' is not installed", name))
	}
	return err
}

func (s *Service) get(w http.ResponseWriter, r *http.Request) error {
	name, err := named(r)
	if err != nil {
		return err
	}
	info, err := s.installed.Get(name)
	if err != nil {
		return absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, show(info))
}

func (s *Service) enable(w http.ResponseWriter, r *http.Request) error {
	name, err := named(r)
	if err != nil {
		return err
	}
	var body struct {
		Enabled *bool `json:"enabled"`
	}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	if body.Enabled == nil {
		return rest.Missing("body", "enabled")
	}
	if err := s.installed.SetEnabled(name, *body.Enabled); err != nil {
		return absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, struct {
		Name    string `json:"name"`
		Enabled bool   `json:"enabled"`
	}{name, *body.Enabled})
}

func (s *Service) uninstall(w http.ResponseWriter, r *http.Request) error {
	name, err := named(r)
	if err != nil {
		return err
	}
	if err := s.installed.Uninstall(name); err != nil {
		return absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"message": fmt.Sprintf("Skill '%s' uninstalled", name)})
}

func (s *Service) refresh(w http.ResponseWriter, r *http.Request) error {
	name, err := named(r)
	if err != nil {
		return err
	}
	info, err := s.installed.Update(r.Context(), name)
	switch {
	case errors.Is(err, installation.ErrFetch):
		return rest.Fail(http.StatusBadRequest, fmt.Sprintf("Failed to fetch the source of skill '%s'. The installed copy was kept.", name))
	case fault.Is(err, fault.Invalid):
		return rest.Fail(http.StatusUnprocessableEntity, fmt.Sprintf("The source of skill '%s' no longer holds a valid skill. The installed copy was kept.", name))
	case err != nil:
		return absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"message": fmt.Sprintf("Skill '%s' updated", name), "skill": show(info)})
}
