package profiles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/filestore"
	"github.com/deft-dev/deft/spec"
)

// Limit is how many profiles of a kind there may be.
const Limit = 50

// maxFile is how long the file of a profile may be, in bytes.
const maxFile = 1 << 20

// Names match names of profiles.
var Names = spec.ProfileName

// Canonical returns the name of the profile that name addresses: "foo.json"
// is the file of "foo".
func Canonical(name string) string { return strings.TrimSuffix(name, ".json") }

// folder is a directory with one file for each profile. Its methods but acquire
// want the lock to be held, except those that only read.
type folder struct {
	files       filestore.Files
	dir, lock   string
	what, store string // as messages call a profile and the folder
	max         int64  // bytes of a file
	log         *slog.Logger
}

func (f folder) acquire(ctx context.Context) (unlock func(), err error) {
	unlock, err = f.files.Lock(ctx, filepath.Join(f.dir, f.lock))
	if fault.Is(err, fault.Unavailable) {
		err = fault.New(fault.Unavailable, f.store+" is busy. Please retry.")
	}
	return unlock, err
}

// locked calls do while the folder is locked.
func (f folder) locked(ctx context.Context, do func() error) error {
	unlock, err := f.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

// locked is the method for calls that return something.
func locked[T any](ctx context.Context, f folder, do func() (T, error)) (out T, err error) {
	err = f.locked(ctx, func() (err error) {
		out, err = do()
		return err
	})
	return out, err
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
	all, err := f.files.Names(f.dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, one := range all {
		if name, ok := strings.CutSuffix(one, ".json"); ok && Names.MatchString(name) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a+".json", b+".json") })
	return out, nil
}

// read returns a profile's document as it is stored, nil where there is none.
func (f folder) read(name string) (*schema.Map, error) {
	path, err := f.path(name)
	if err != nil {
		return nil, err
	}
	if size, _, err := f.files.Size(path); err == nil && size > f.max {
		return nil, f.unreadable(name, f.tooLong())
	}
	raw, err := f.files.Read(path)
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

// load returns check's result for a profile's document.
func load[T any](f folder, name string, check func(m *schema.Map) (T, error)) (out T, err error) {
	m, err := f.existing(name)
	if err != nil {
		return out, err
	}
	switch out, err = check(m); {
	case errors.Is(err, schema.ErrSealed):
		return out, fmt.Errorf("load %s `%s`: %w", strings.ToLower(f.what), name, err)
	case err != nil:
		return out, f.unreadable(name, err)
	}
	return out, nil
}

// list returns one's results for all documents. Files that cannot be read are
// skipped.
func list[T any](f folder, one func(name string, m *schema.Map) T) ([]T, error) {
	out := []T{}
	names, err := f.names()
	for _, name := range names {
		m, err := f.read(name)
		if err != nil || m == nil {
			f.log.Warn("skip what cannot be read", "what", f.what, "name", name, "error", err)
			continue
		}
		out = append(out, one(name, m))
	}
	return out, err
}

// write replaces a profile's document. A new profile beyond [Limit] is a
// Conflict, a document that is too long Invalid.
func (f folder) write(name string, m *schema.Map) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	_, found, err := f.files.Size(path)
	if err != nil {
		return err
	}
	if !found {
		names, err := f.names()
		if err != nil {
			return err
		}
		if len(names) >= Limit {
			return fault.New(fault.Conflict, fmt.Sprintf("%s limit reached (%d). Delete a %s before saving a new one.", f.what, Limit,
				strings.TrimPrefix(strings.ToLower(f.what), "agent ")))
		}
	}
	raw, err := schema.Indent(m)
	if err != nil {
		return err
	}
	if int64(len(raw)) > f.max {
		return fault.New(fault.Invalid, fmt.Sprintf("%s '%s' cannot be saved: %v", f.what, name, f.tooLong()))
	}
	return f.files.Write(path, raw)
}

// remove deletes a profile; a missing one is no error.
func (f folder) remove(name string) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	return f.files.Remove(path)
}

// rename gives a profile another name, which is a Conflict if it is taken.
func (f folder) rename(from, to string) error {
	old, err := f.path(from)
	if err != nil {
		return err
	}
	next, err := f.path(to)
	if err != nil {
		return err
	}
	switch _, found, err := f.files.Size(old); {
	case err != nil:
		return err
	case !found:
		return f.missing(from)
	case old == next:
		return nil
	}
	switch _, found, err := f.files.Size(next); {
	case err != nil:
		return err
	case found:
		return fault.New(fault.Conflict, fmt.Sprintf("%s '%s' already exists", f.what, to))
	}
	return f.files.Rename(old, next)
}

// unreadable is the error of a file that cannot be used. Violations of the file
// are none of the request, so that only their text is kept.
func (f folder) unreadable(name string, err error) error {
	return fault.New(fault.Invalid, fmt.Sprintf("Failed to load %s `%s`: %v", strings.ToLower(f.what), name, err))
}

func (f folder) missing(name string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("%s '%s' not found", f.what, name))
}

func (f folder) tooLong() error { return fmt.Errorf("it is longer than %d KiB", f.max>>10) }
