package skills

import (
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/installation"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/skill"
)

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	const tag = "Skills"
	own := []rest.Route{
		{Method: "POST", Path: "/api/skills", Tag: tag, Handle: s.postList},
		{Method: "GET", Path: "/api/skills/catalog", Tag: tag, Handle: s.getCatalog},
		{Method: "POST", Path: "/api/skills/sync", Tag: tag, Handle: s.postSync},
		{Method: "GET", Path: "/api/skills/marketplace", Tag: tag, Handle: s.getMarketplace},
	}
	return append(own, installation.API{
		Store: s.installed, Noun: "skill", Invalid: "the source contains a valid SKILL.md", Log: s.o.Log,
		Show: func(i installation.Info) any { return installation.ShapeOf(i) },
	}.Routes()...)
}

var (
	flag     = schema.Bool{}
	optional = schema.Opt(schema.String{})
	listForm = &schema.Object{Fields: []schema.Field{
		{Name: "load_public", Type: flag}, {Name: "load_user", Type: flag},
		{Name: "load_project", Type: flag}, {Name: "load_org", Type: flag},
		{Name: "marketplace_path", Type: optional}, {Name: "project_dir", Type: optional},
	}}
)

func (s *Service) postList(w http.ResponseWriter, r *http.Request) error {
	marketplace := skill.DefaultMarketplace
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
	if err := rest.CheckBody(r, listForm); err != nil {
		return err
	}
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
	var wrong schema.Violations
	need := func(given bool, loc ...any) {
		if !given && len(wrong) < schema.MostViolations {
			wrong = append(wrong, schema.Missing(append([]any{"body"}, loc...)...)...)
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
