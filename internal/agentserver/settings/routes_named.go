package settings

import (
	"context"
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/settings"
	"github.com/deft-dev/deft/internal/settings/profiles"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// nameHandler answers a request about what has the name.
type nameHandler func(w http.ResponseWriter, r *http.Request, name string) error

// byName calls h with the name in the path; 422 if it cannot be one.
func byName(h nameHandler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("name")
		if _, err := schema.Check(nameType, name, schema.Reading{}, "path", "name"); err != nil {
			return err
		}
		return h(w, r, name)
	}
}

var nameType = schema.String{Min: 1, Max: 64, Pattern: profiles.Names}

var renameBody = spec.Reference("RenameProfileRequest", schema.Object{})

// done is the answer to changes of something with a name.
type done struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// namedStore is a store of things with names, as its routes see it.
type namedStore struct {
	what   string // as messages call one
	list   rest.Handler
	get    nameHandler
	save   func(r *http.Request, name string) error
	remove func(ctx context.Context, name string) error
	rename func(ctx context.Context, from, to string) error // nil if names stay
}

// routes returns the operations of the store, with those that only it has.
func (n namedStore) routes(own ...rest.Route) []rest.Route {
	all := []rest.Route{
		{Method: "GET", Handle: n.list},
		{Method: "GET", Path: "/{name}", Handle: byName(n.get)},
		{Method: "POST", Path: "/{name}", Handle: byName(n.answerSave)},
		{Method: "DELETE", Path: "/{name}", Handle: byName(n.answerRemove)},
	}
	if n.rename != nil {
		all = append(all, rest.Route{Method: "POST", Path: "/{name}/rename", Handle: byName(n.answerRename)})
	}
	return append(all, own...)
}

func (n namedStore) answerSave(w http.ResponseWriter, r *http.Request, name string) error {
	if err := n.save(r, name); err != nil {
		return err
	}
	return rest.JSON(w, http.StatusCreated, done{name, n.what + " '" + name + "' saved"})
}

func (n namedStore) answerRemove(w http.ResponseWriter, r *http.Request, name string) error {
	if err := n.remove(r.Context(), name); err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, done{name, n.what + " '" + name + "' deleted"})
}

func (n namedStore) answerRename(w http.ResponseWriter, r *http.Request, name string) error {
	m, err := rest.BodyAs(r, renameBody)
	if err != nil {
		return err
	}
	to := m.Text("new_name")
	if err := n.rename(r.Context(), name, to); err != nil {
		return err
	}
	message := n.what + " '" + name + "' renamed to '" + to + "'"
	if name == to {
		message = n.what + " '" + name + "' unchanged (same name)"
	}
	return rest.JSON(w, http.StatusOK, done{to, message})
}

// listing answers with the content of a store and, from the settings, what of it
// is active.
func listing[T any](s server, list func(context.Context) ([]T, error), answer func([]T, *settings.Document) any) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		all, err := list(r.Context())
		if err != nil {
			return err
		}
		doc, err := s.Load()
		if err != nil {
			return err
		}
		return rest.JSON(w, http.StatusOK, answer(all, doc))
	}
}
