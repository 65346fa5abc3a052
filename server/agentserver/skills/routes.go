package skills

import (
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/installation"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
)

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
		Show: func(i installation.Info) any { return installation.ShapeOf(i) },
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
