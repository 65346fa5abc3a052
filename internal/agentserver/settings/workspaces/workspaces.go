// Package workspaces keeps the folders that a user has chosen to work in, and
// those that hold several (sdk-wire.md section 10, Workspaces).
//
// # Usage
//
//	s := workspaces.New(dir) // of workspaces.json
//	routes := s.Routes()
//
// # Concurrency
//
// A Service is safe for concurrent use, between processes as well.
//
// # Failure
//
// A file that cannot be read is never written over: Conflict.
package workspaces

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/settings/filestore"
	"github.com/deft-dev/deft/schema"
)

// Service keeps one user's workspaces.
type Service struct{ dir string }

// New returns the service of a directory, which is made when something is
// added.
func New(dir string) *Service { return &Service{dir: dir} }

const (
	folders = "workspaces"
	parents = "workspaceParents"
)

var long = schema.String{Min: 1, Max: 4096}

func item(more ...schema.Field) *schema.Object {
	return &schema.Object{Compact: true, Fields: append([]schema.Field{
		{Name: "id", Type: long, Required: true},
		{Name: "name", Type: schema.String{Min: 1, Max: 256}, Required: true},
		{Name: "path", Type: long, Required: true},
	}, more...)}
}

var (
	parent = item()
	folder = func() *schema.Object {
		o := item(schema.Field{Name: "parentPath", Type: schema.Opt(schema.String{Max: 4096})})
		o.Before = func(m *schema.Map) error { // the name of the field in Python
			if v, ok := m.Lookup("parent_path"); ok && m.Get("parentPath") == nil {
				m.Set("parentPath", v)
			}
			return nil
		}
		return o
	}()
	file = &schema.Object{Fields: []schema.Field{
		{Name: "schema_version", Type: schema.Int{}, Default: schema.Count(1)},
		{Name: folders, Type: schema.List{Of: folder}, Default: []any{}},
		{Name: parents, Type: schema.List{Of: parent}, Default: []any{}},
	}}
)

// List returns what is saved: an object of two lists.
func (s *Service) List() (*schema.Map, error) {
	raw, err := filestore.Read(filepath.Join(s.dir, "workspaces.json"))
	if err != nil {
		return nil, fmt.Errorf("read workspaces: %w", err)
	}
	if raw == nil {
		return file.Defaults(), nil
	}
	corrupted := fault.New(fault.Conflict, "Workspaces file is corrupted")
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, corrupted
	}
	m, err := file.Check(v, schema.Reading{})
	if err != nil || m.Get("schema_version") != schema.Count(1) && m.Get("schema_version") != schema.Count(0) {
		return nil, corrupted
	}
	m.Set("schema_version", schema.Count(1))
	return m, nil
}

// change replaces one of the lists; f reports whether it is another one.
func (s *Service) change(ctx context.Context, key string, f func([]any) ([]any, bool)) (*schema.Map, error) {
	unlock, err := filestore.Lock(ctx, filepath.Join(s.dir, ".workspaces.lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	m, err := s.List()
	if err != nil {
		return nil, err
	}
	old, _ := m.Get(key).([]any)
	list, changed := f(old)
	if !changed {
		return m, nil
	}
	m.Set(key, list)
	out, err := file.Dump(m, schema.Writing{})
	if err != nil {
		return nil, err
	}
	raw, err := schema.Indent(out)
	if err != nil {
		return nil, err
	}
	return m, filestore.Write(filepath.Join(s.dir, "workspaces.json"), raw)
}

func pathOf(v any) string {
	m, _ := v.(*schema.Map)
	return m.Text("path")
}

// add appends what is not there yet; things are the same if their paths are.
func (s *Service) add(ctx context.Context, key string, more []any) (*schema.Map, error) {
	return s.change(ctx, key, func(list []any) ([]any, bool) {
		before := len(list)
		list = slices.Clone(list)
		for _, one := range more {
			if !slices.ContainsFunc(list, func(o any) bool { return pathOf(o) == pathOf(one) }) {
				list = append(list, one)
			}
		}
		return list, len(list) > before
	})
}

// remove deletes what has a path, and reports whether there was any.
func (s *Service) remove(ctx context.Context, key, path string) (removed bool, err error) {
	_, err = s.change(ctx, key, func(list []any) ([]any, bool) {
		rest := slices.DeleteFunc(slices.Clone(list), func(o any) bool { return pathOf(o) == path })
		removed = len(rest) < len(list)
		return rest, removed
	})
	return removed, err
}

// Routes returns the operations below /api/workspaces.
func (s *Service) Routes() []rest.Route {
	const base, tag = "/api/workspaces", "Workspaces"
	return []rest.Route{
		{Method: "GET", Path: base, Tag: tag, Handle: s.list},
		{Method: "POST", Path: base, Tag: tag, Handle: s.adding(folders, folders, folder)},
		{Method: "DELETE", Path: base, Tag: tag, Handle: s.removing(folders, "Workspace not found")},
		{Method: "POST", Path: base + "/parents", Tag: tag, Handle: s.adding(parents, "parents", parent)},
		{Method: "DELETE", Path: base + "/parents", Tag: tag, Handle: s.removing(parents, "Workspace parent not found")},
	}
}

func answer(w http.ResponseWriter, m *schema.Map) error {
	out, err := file.Dump(m, schema.Writing{})
	if err != nil {
		return err
	}
	out.Delete("schema_version")
	return rest.JSON(w, http.StatusOK, out)
}

func (s *Service) list(w http.ResponseWriter, _ *http.Request) error {
	m, err := s.List()
	if err != nil {
		return err
	}
	return answer(w, m)
}

// adding handles a body with a list under a key of its own.
func (s *Service) adding(key, body string, of *schema.Object) rest.Handler {
	schema := &schema.Object{Fields: []schema.Field{{Name: body, Type: schema.List{Of: of}, Required: true}}}
	return func(w http.ResponseWriter, r *http.Request) error {
		doc, err := rest.BodyAs(r, schema)
		if err != nil {
			return err
		}
		more, _ := doc.Get(body).([]any)
		m, err := s.add(r.Context(), key, more)
		if err != nil {
			return err
		}
		return answer(w, m)
	}
}

func (s *Service) removing(key, missing string) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := rest.QueryOf(r)
		path := q.Required("path")
		if err := q.Err(); err != nil {
			return err
		}
		removed, err := s.remove(r.Context(), key, path)
		if err != nil {
			return err
		}
		if !removed {
			return fault.New(fault.NotFound, missing)
		}
		return rest.JSON(w, http.StatusOK, map[string]bool{"deleted": true})
	}
}
