package settings

import (
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/settings/workspaces"
	"github.com/deft-dev/deft/schema"
)

// Workspaces returns the operations below /api/workspaces.
func Workspaces(s *workspaces.Store) []rest.Route {
	return group("Workspaces", "/api/workspaces", []operation{
		{"GET", "", func(*http.Request) (any, error) {
			m, err := s.List()
			return bothLists(m, err)
		}, 0},
		{"POST", "", addWorkspaces(s, workspaces.Folders, workspaces.Folders, workspaces.Folder), 0},
		{"DELETE", "", removeWorkspace(s, workspaces.Folders), 0},
		{"POST", "/parents", addWorkspaces(s, workspaces.Parents, "parents", workspaces.Parent), 0},
		{"DELETE", "/parents", removeWorkspace(s, workspaces.Parents), 0},
	})
}

func bothLists(m *schema.Map, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	out, err := workspaces.File.Dump(m, schema.Writing{})
	out.Delete("schema_version")
	return out, err
}

// addWorkspaces handles a body that has the items of a list in one field.
func addWorkspaces(s *workspaces.Store, list, field string, item *schema.Object) handler {
	body := &schema.Object{Fields: []schema.Field{{Name: field, Type: schema.List{Of: item}, Required: true}}}
	return func(r *http.Request) (any, error) {
		doc, err := rest.BodyAs(r, body)
		if err != nil {
			return nil, err
		}
		items, _ := doc.Get(field).([]any)
		m, err := s.Add(r.Context(), list, items)
		return bothLists(m, err)
	}
}

func removeWorkspace(s *workspaces.Store, list string) handler {
	return func(r *http.Request) (any, error) {
		q := rest.QueryOf(r)
		path := q.Required("path")
		if err := q.Err(); err != nil {
			return nil, err
		}
		return map[string]bool{"deleted": true}, s.Remove(r.Context(), list, path)
	}
}
