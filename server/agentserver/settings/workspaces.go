package settings

import (
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings/workspaces"
)

// Workspaces returns the operations below /api/workspaces.
func Workspaces(s *workspaces.Store) []rest.Route {
	const base = "/api/workspaces"
	route := func(method, path string, handle func(r *http.Request) (any, error)) rest.Route {
		return rest.Route{Method: method, Path: path, Tag: "Workspaces", Scope: rest.Account, Handle: answer(http.StatusOK, handle)}
	}
	return []rest.Route{
		route("GET", base, func(*http.Request) (any, error) {
			m, err := s.List()
			return bothLists(m, err)
		}),
		route("POST", base, addWorkspaces(s, workspaces.Folders, workspaces.Folders, workspaces.Folder)),
		route("DELETE", base, removeWorkspace(s, workspaces.Folders)),
		route("POST", base+"/parents", addWorkspaces(s, workspaces.Parents, "parents", workspaces.Parent)),
		route("DELETE", base+"/parents", removeWorkspace(s, workspaces.Parents)),
	}
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
func addWorkspaces(s *workspaces.Store, list, field string, item *schema.Object) func(r *http.Request) (any, error) {
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

func removeWorkspace(s *workspaces.Store, list string) func(r *http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		q := rest.QueryOf(r)
		path := q.Required("path")
		if err := q.Err(); err != nil {
			return nil, err
		}
		return map[string]bool{"deleted": true}, s.Remove(r.Context(), list, path)
	}
}
