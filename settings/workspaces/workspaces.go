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
	"errors"
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/filestore"
	"github.com/deft-dev/deft/spec"
)

// Store keeps one user's workspaces.
type Store struct{ file *filestore.Document }

// New returns the store of a directory, which is made when something is added.
func New(dir string) *Store {
	return &Store{&filestore.Document{Path: filepath.Join(dir, "workspaces.json"), Lock: ".workspaces.lock", Schema: File}}
}

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
	File = &schema.Object{
		Before: func(m *schema.Map) error { return filestore.CheckVersion(m, "Workspaces file", 1) },
		Fields: []schema.Field{
			{Name: "schema_version", Type: schema.Any{}, Default: schema.Count(1)},
			{Name: Folders, Type: schema.List{Of: Folder}, Default: []any{}},
			{Name: Parents, Type: schema.List{Of: Parent}, Default: []any{}},
		},
	}
)

// List returns the saved folders: an object of two lists, which callers must not
// change.
func (s *Store) List() (*schema.Map, error) {
	m, err := s.file.Read()
	return m, corrupted(err)
}

func corrupted(err error) error {
	if errors.Is(err, filestore.ErrUnreadable) {
		return fault.New(fault.Conflict, "Workspaces file is corrupted")
	}
	return err
}

func pathOf(v any) string {
	m, _ := v.(*schema.Map)
	return m.Text("path")
}

// Add appends the items that a list does not have yet; two with one path are the
// same.
func (s *Store) Add(ctx context.Context, key string, more []any) (out *schema.Map, err error) {
	err = s.file.Change(ctx, func(m *schema.Map) error {
		list, _ := m.Get(key).([]any)
		for _, one := range more {
			if !slices.ContainsFunc(list, func(o any) bool { return pathOf(o) == pathOf(one) }) {
				list = append(list, one)
			}
		}
		m.Set(key, list)
		out = m
		return nil
	})
	return out, corrupted(err)
}

// Remove deletes the items with a path, NotFound where there are none.
func (s *Store) Remove(ctx context.Context, key, path string) error {
	return corrupted(s.file.Change(ctx, func(m *schema.Map) error {
		list, _ := m.Get(key).([]any)
		rest := slices.DeleteFunc(slices.Clone(list), func(o any) bool { return pathOf(o) == path })
		if len(rest) == len(list) {
			what := map[string]string{Folders: "Workspace", Parents: "Workspace parent"}[key]
			return fault.New(fault.NotFound, what+" not found")
		}
		m.Set(key, rest)
		return nil
	}))
}
