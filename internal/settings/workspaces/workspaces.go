// Package workspaces keeps the folders that a user has chosen to work in, and
// those that hold several (docs/openhands/sdk-wire.md section 10, Workspaces).
//
// # Usage
//
//	s := workspaces.New(dir) // of workspaces.json
//	m, err := s.Add(ctx, workspaces.Folders, list)
//
// # Concurrency
//
// A Store is safe for concurrent use, between processes as well.
//
// # Failure
//
// A file that cannot be read is never written over: Conflict.
package workspaces

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/filestore"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Store keeps one user's workspaces.
type Store struct{ dir string }

// New returns the store of a directory, which is made when something is added.
func New(dir string) *Store { return &Store{dir: dir} }

// The two lists of the File.
const (
	Folders = "workspaces"
	Parents = "workspaceParents"
)

// Parent and Folder describe the items of the lists.
var (
	Parent = spec.Reference("WorkspaceParentItem", schema.Object{Compact: true})
	Folder = spec.Reference("WorkspaceItem", schema.Object{Compact: true, Before: func(m *schema.Map) error { // the name of the field in Python
		if v, ok := m.Lookup("parent_path"); ok && m.Get("parentPath") == nil {
			m.Set("parentPath", v)
		}
		return nil
	}})
	// File describes both lists.
	File = &schema.Object{Fields: []schema.Field{
		{Name: "schema_version", Type: schema.Int{}, Default: schema.Count(1)},
		{Name: Folders, Type: schema.List{Of: Folder}, Default: []any{}},
		{Name: Parents, Type: schema.List{Of: Parent}, Default: []any{}},
	}}
)

// List returns what is saved: an object of two lists.
func (s *Store) List() (*schema.Map, error) {
	raw, err := filestore.Read(filepath.Join(s.dir, "workspaces.json"))
	if err != nil {
		return nil, fmt.Errorf("read workspaces: %w", err)
	}
	if raw == nil {
		return File.Defaults(), nil
	}
	corrupted := fault.New(fault.Conflict, "Workspaces file is corrupted")
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, corrupted
	}
	m, err := File.Check(v, schema.Reading{})
	if err != nil || m.Get("schema_version") != schema.Count(1) && m.Get("schema_version") != schema.Count(0) {
		return nil, corrupted
	}
	m.Set("schema_version", schema.Count(1))
	return m, nil
}

// change replaces one of the lists; f reports whether it changed the list.
func (s *Store) change(ctx context.Context, key string, f func([]any) ([]any, bool)) (*schema.Map, error) {
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
	out, err := File.Dump(m, schema.Writing{})
	if err != nil {
		return nil, err
	}
	return m, filestore.WriteDocument(filepath.Join(s.dir, "workspaces.json"), out)
}

func pathOf(v any) string {
	m, _ := v.(*schema.Map)
	return m.Text("path")
}

// Add appends the items that a list does not have yet; two with one path are the
// same.
func (s *Store) Add(ctx context.Context, key string, more []any) (*schema.Map, error) {
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

// Remove deletes the items with a path, and reports whether there were any.
func (s *Store) Remove(ctx context.Context, key, path string) (removed bool, err error) {
	_, err = s.change(ctx, key, func(list []any) ([]any, bool) {
		rest := slices.DeleteFunc(slices.Clone(list), func(o any) bool { return pathOf(o) == path })
		removed = len(rest) < len(list)
		return rest, removed
	})
	return removed, err
}
