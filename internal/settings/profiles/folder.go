package profiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/filestore"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Limit is how many profiles of a kind there may be.
const Limit = 50

// Names are what profiles may be called.
var Names = spec.ProfileName

// Canonical returns the name of the profile that name addresses: "foo.json"
// is the file of "foo".
func Canonical(name string) string { return strings.TrimSuffix(name, ".json") }

// folder is a directory with one file for each profile.
type folder struct {
	dir, lock string
	what      string // "Profile", "Agent profile" or "Meta-profile"
	log       *slog.Logger
}

func (f folder) acquire(ctx context.Context) (unlock func(), err error) {
	unlock, err = filestore.Lock(ctx, filepath.Join(f.dir, f.lock))
	if fault.Is(err, fault.Unavailable) {
		err = fault.New(fault.Unavailable, f.store()+" is busy. Please retry.")
	}
	return unlock, err
}

// locked calls do while the folder is locked.
func locked[T any](ctx context.Context, f folder, do func() (T, error)) (out T, err error) {
	unlock, err := f.acquire(ctx)
	if err != nil {
		return out, err
	}
	defer unlock()
	return do()
}

// locked is the function for calls that return only an error.
func (f folder) locked(ctx context.Context, do func() error) error {
	_, err := locked(ctx, f, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (f folder) store() string {
	if f.what == "Meta-profile" {
		return "Meta-profile store"
	}
	return "Profile store"
}

func (f folder) path(name string) (string, error) {
	clean := Canonical(name)
	if !Names.MatchString(clean) {
		return "", fault.New(fault.Invalid, fmt.Sprintf("Invalid %s name: '%s'. Names must be 1-64 characters, "+
			"start with a letter or digit, and contain only letters, digits, '.', '_', or '-'.", strings.ToLower(f.what), name))
	}
	return filepath.Join(f.dir, clean+".json"), nil
}

// names returns the names of all profiles, sorted as the reference sorts files.
func (f folder) names() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && Names.MatchString(name) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a+".json", b+".json") })
	return out, nil
}

// read returns a profile's document, nil where there is none.
func (f folder) read(name string) (*schema.Map, error) {
	path, err := f.path(name)
	if err != nil {
		return nil, err
	}
	raw, err := filestore.Read(path)
	if err != nil || raw == nil {
		return nil, err
	}
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, f.unreadable(name, err)
	}
	m, ok := v.(*schema.Map)
	if !ok {
		return nil, f.unreadable(name, errors.New("it is no JSON object"))
	}
	return m, nil
}

// existing is read for a profile that must exist.
func (f folder) existing(name string) (*schema.Map, error) {
	m, err := f.read(name)
	if err == nil && m == nil {
		err = f.missing(name)
	}
	return m, err
}

// each calls do with all documents. Files that cannot be read are skipped.
func (f folder) each(do func(name string, m *schema.Map) error) error {
	names, err := f.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		m, err := f.read(name)
		if err != nil || m == nil {
			f.log.Warn("skip what cannot be read", "what", f.what, "name", name, "error", err)
			continue
		}
		if err := do(name, m); err != nil {
			return err
		}
	}
	return nil
}

// unreadable is the error of a file that cannot be used. Violations of the file
// are none of the request, so that only their text is kept.
func (f folder) unreadable(name string, err error) error {
	return fault.New(fault.Invalid, fmt.Sprintf("Failed to load %s `%s`: %v", strings.ToLower(f.what), name, err))
}

func (f folder) missing(name string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("%s '%s' not found", f.what, name))
}

// checkLimit refuses a new profile beyond the limit.
func (f folder) checkLimit(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	names, err := f.names()
	if err != nil {
		return err
	}
	if len(names) >= Limit {
		return fault.New(fault.Conflict, fmt.Sprintf("%s limit reached (%d). Delete a %s before saving a new one.", f.what, Limit,
			strings.TrimPrefix(strings.ToLower(f.what), "agent ")))
	}
	return nil
}

// write writes a document. A new profile beyond [Limit] is a Conflict.
func (f folder) write(ctx context.Context, path string, m *schema.Map) error {
	unlock, err := f.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.checkLimit(path); err != nil {
		return err
	}
	return filestore.WriteDocument(path, m)
}

// remove deletes a profile; a missing one is no error.
// The lock must be held.
func (f folder) remove(name string) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return filestore.Sync(f.dir)
}

// renamePaths returns the old and the new path of a profile, or why it cannot be
// renamed. same is true if both names are one.
func (f folder) renamePaths(from, to string) (old, next string, same bool, err error) {
	if old, err = f.path(from); err != nil {
		return
	}
	if next, err = f.path(to); err != nil {
		return
	}
	if _, err = os.Lstat(old); err != nil {
		return old, next, false, f.missing(from)
	}
	if old == next {
		return old, next, true, nil
	}
	if _, err = os.Lstat(next); err == nil {
		err = fault.New(fault.Conflict, fmt.Sprintf("%s '%s' already exists", f.what, to))
		return
	}
	return old, next, false, nil
}
