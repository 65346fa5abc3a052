package settings

import (
	"context"
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// named are the things of one kind that are saved under names.
type named struct {
	what string // as messages call one
	// list returns all of them; listKey is its field of the answer, active the field
	// of the pointer to the one in use.
	list    func(s server, ctx context.Context) (any, error)
	listKey string
	active  func(doc *settings.Document) (key string, pointer *string)
	get     func(s server, r *http.Request, name string) (any, error)
	save    func(s server, r *http.Request, name string) error
	remove  func(s server, ctx context.Context, name string) error
	rename  func(s server, ctx context.Context, from, to string) error // nil if names stay
}

var nameType = schema.String{Min: 1, Max: 64, Pattern: profiles.Names}

// byName calls h with the name in the path; 422 if it cannot be one.
func byName(h func(s server, r *http.Request, name string) (any, error)) handler {
	return func(s server, r *http.Request) (any, error) {
		name := r.PathValue("name")
		if _, err := schema.Check(nameType, name, schema.Reading{}, "path", "name"); err != nil {
			return nil, err
		}
		return h(s, r, name)
	}
}

// done is the answer to a change of something with a name.
func done(name, message string) map[string]any {
	return map[string]any{"name": name, "message": message}
}

var renameBody = spec.Reference("RenameProfileRequest", schema.Object{})

// operations returns the operations on one kind, and those that only it has.
func operations(n named, own ...operation) []operation {
	all := []operation{
		{"GET", "", func(s server, r *http.Request) (any, error) {
			list, err := n.list(s, r.Context())
			if err != nil {
				return nil, err
			}
			doc, err := s.Load()
			if err != nil {
				return nil, err
			}
			key, pointer := n.active(doc)
			return map[string]any{n.listKey: list, key: pointer}, nil
		}, 0},
		{"GET", "/{name}", byName(n.get), 0},
		{"POST", "/{name}", byName(func(s server, r *http.Request, name string) (any, error) {
			return done(name, n.what+" '"+name+"' saved"), n.save(s, r, name)
		}), http.StatusCreated},
		{"DELETE", "/{name}", byName(func(s server, r *http.Request, name string) (any, error) {
			return done(name, n.what+" '"+name+"' deleted"), n.remove(s, r.Context(), name)
		}), 0},
	}
	if n.rename != nil {
		all = append(all, operation{"POST", "/{name}/rename", byName(func(s server, r *http.Request, name string) (any, error) {
			m, err := rest.BodyAs(r, renameBody)
			if err != nil {
				return nil, err
			}
			to := m.Text("new_name")
			message := n.what + " '" + name + "' renamed to '" + to + "'"
			if name == to {
				message = n.what + " '" + name + "' unchanged (same name)"
			}
			return done(to, message), n.rename(s, r.Context(), name, to)
		}), 0})
	}
	return append(all, own...)
}
