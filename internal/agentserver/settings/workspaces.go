package settings

import (
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/settings/workspaces"
	"github.com/deft-dev/deft/schema"
)

// Workspaces returns the operations below /api/workspaces.
func Workspaces(s *workspaces.Store) []rest.Route {
	const base, tag = "/api/workspaces", "Workspaces"
	return []rest.Route{
		{Method: "GET", Path: base, Tag: tag, Handle: func(w http.ResponseWriter, _ *http.Request) error {
			m, err := s.List()
			return answerWorkspaces(w, m, err)
		}},
		{Method: "POST", Path: base, Tag: tag, Handle: addWorkspaces(s, workspaces.Folders, workspaces.Folders, workspaces.Folder)},
		{Method: "DELETE", Path: base, Tag: tag, Handle: removeWorkspace(s, workspaces.Folders)},
		{Method: "POST", Path: base + "/parents", Tag: tag, Handle: addWorkspaces(s, workspaces.Parents, "parents", workspaces.Parent)},
		{Method: "DELETE", Path: base + "/parents", Tag: tag, Handle: removeWorkspace(s, workspaces.Parents)},
	}
}

func answerWorkspaces(w http.ResponseWriter, m *schema.Map, err error) error {
	if err != nil {
		return err
	}
	out, err := workspaces.File.Dump(m, schema.Writing{})
	if err != nil {
		return err
	}
	out.Delete("schema_version")
	return rest.JSON(w, http.StatusOK, out)
}

// addWorkspaces handles a body that has the items of a list in one field.
func addWorkspaces(s *workspaces.Store, list, field string, item *schema.Object) rest.Handler {
	body := &schema.Object{Fields: []schema.Field{{Name: field, Type: schema.List{Of: item}, Required: true}}}
	return func(w http.ResponseWriter, r *http.Request) error {
		doc, err := rest.BodyAs(r, body)
		if err != nil {
			return err
		}
		items, _ := doc.Get(field).([]any)
		m, err := s.Add(r.Context(), list, items)
		return answerWorkspaces(w, m, err)
	}
}

func removeWorkspace(s *workspaces.Store, list string) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := rest.QueryOf(r)
		path := q.Required("path")
		if err := q.Err(); err != nil {
			return err
		}
		if err := s.Remove(r.Context(), list, path); err != nil {
			return err
		}
		return rest.JSON(w, http.StatusOK, map[string]bool{"deleted": true})
	}
}
