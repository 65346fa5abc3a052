// Package installed keeps skills and plugins that a user installed: it fetches
// them from a directory or a Git repository, copies them to one directory, and
// records them with their commits in .installed.json, which the reference reads and writes
// as well (docs/openhands/sdk-wire.md section 10).
//
// # Usage
//
//	store := installed.New(dir, load)
//	info, err := store.Install(ctx, gitsource.Source{Source: "github:owner/repo"}, false)
//
// # Concurrency and failure
//
// A Store is safe for concurrent use, by several processes too. A failed installation leaves
// the previous one. Errors are gitsource.ErrFetch for a source that cannot be fetched,
// fault.Invalid for one without anything valid, fault.Conflict for a name that is installed,
// and fault.Corrupt for a record that cannot be read, which is left as it is.
package installed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/plugin/gitsource"
)

// Name matches the names of installed things.
var Name = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Info is an installed thing, in the form of .installed.json.
type Info struct {
	Name         string  `json:"name"`
	Version      string  `json:"version"`
	Description  string  `json:"description"`
	Enabled      bool    `json:"enabled"`
	Source       string  `json:"source"`
	RequestedRef *string `json:"requested_ref"`
	ResolvedRef  *string `json:"resolved_ref"`
	RepoPath     *string `json:"repo_path"`
	InstalledAt  string  `json:"installed_at"`
	InstallPath  string  `json:"install_path"`
}

// Load describes a directory. An error of kind fault.Invalid says that it contains
// nothing valid.
type Load func(dir string) (name, version, description string, err error)

// Store is a directory of installed things. Make one with [New].
type Store struct {
	dir  string
	load Load
}

// New returns the store of a directory, which the first installation creates.
func New(dir string, load Load) *Store { return &Store{dir: dir, load: load} }

// Dir returns the store's directory.
func (s *Store) Dir() string { return s.dir }

// Confirm is asked before a thing that was fetched into a directory is placed. Its error ends
// the installation.
type Confirm func(dir string, what Info) error

// Install fetches a thing and copies it into the store. force replaces one of its
// name, which stays disabled if it was. confirm may be nil.
func (s *Store) Install(ctx context.Context, from gitsource.Source, force bool, confirm Confirm) (Info, error) {
	return s.install(ctx, from, "", confirm, func(name string) error {
		if _, err := os.Lstat(filepath.Join(s.dir, name)); err == nil && !force {
			return fault.New(fault.Conflict, name+" is installed already")
		}
		return nil
	})
}

// Update installs a thing again from its source, at the branch or tag that it was installed
// from. NotFound if it is not installed, Invalid if the source has another thing now. confirm
// may be nil.
func (s *Store) Update(ctx context.Context, name string, confirm Confirm) (Info, error) {
	old, err := s.Get(name)
	if err != nil {
		return Info{}, err
	}
	from := gitsource.Source{Source: old.Source, Ref: old.RequestedRef, RepoPath: old.RepoPath}
	return s.install(ctx, from, name, confirm, func(found string) error {
		if found != name {
			return fault.New(fault.Invalid, "its source has "+found+" now")
		}
		return nil
	})
}

// install fetches a thing and places it, if allowed by the name that it turns out to have.
func (s *Store) install(ctx context.Context, from gitsource.Source, rootName string, confirm Confirm, allowed func(name string) error) (Info, error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return Info{}, fmt.Errorf("make the directory of installed things: %w", err)
	}
	temp, err := os.MkdirTemp(s.dir, ".new-*")
	if err != nil {
		return Info{}, fmt.Errorf("install: %w", err)
	}
	defer os.RemoveAll(temp)
	got, err := gitsource.Fetch(ctx, from, temp, rootName)
	if err != nil {
		return Info{}, err
	}
	name, version, description, err := s.load(got.Dir)
	if err != nil {
		return Info{}, err
	}
	if len(name) > 255 || !Name().MatchString(name) {
		return Info{}, fault.New(fault.Invalid, fmt.Sprintf("the name %q must be of lower case letters, digits and single hyphens", name))
	}
	if got.Commit == nil && !strings.Contains(from.Source, "://") { // a later update may run elsewhere
		if abs, err := filepath.Abs(from.Source); err == nil && !strings.HasPrefix(from.Source, "~") {
			from.Source = abs
		}
	}
	info := Info{
		Name: name, Version: version, Description: description, Enabled: true,
		Source: from.Source, RequestedRef: from.Ref, ResolvedRef: got.Commit, RepoPath: from.RepoPath,
		InstalledAt: stamp(time.Now()), InstallPath: filepath.Join(s.dir, name),
	}
	if err := allowed(info.Name); err != nil {
		return Info{}, err
	}
	// A thing that does not state its name has its directory's, here too, where its parts are shown. A clone
	// lies beside it, by the name of its repository.
	ready := filepath.Join(temp, ".ready", info.Name)
	if err := os.Mkdir(filepath.Dir(ready), 0o755); err != nil {
		return Info{}, fmt.Errorf("install: %w", err)
	}
	if err := gitsource.CopyTree(got.Dir, ready); err != nil {
		return Info{}, err
	}
	if confirm != nil {
		if err := confirm(ready, info); err != nil {
			return Info{}, err
		}
	}
	err = s.change(ctx, func(record map[string]Info) error {
		if err := allowed(info.Name); err != nil {
			return err
		}
		return s.place(&info, ready, filepath.Join(temp, ".old"), record)
	})
	return info, err
}

// place moves a fetched directory into the store and records it. The directory that it
// replaces becomes old.
func (s *Store) place(info *Info, ready, old string, record map[string]Info) error {
	err := os.Rename(info.InstallPath, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace %s: %w", info.Name, err)
	}
	replaced := err == nil
	if err := os.Rename(ready, info.InstallPath); err != nil {
		if replaced {
			err = errors.Join(err, os.Rename(old, info.InstallPath))
		}
		return fmt.Errorf("install %s: %w", info.Name, err)
	}
	if was, ok := record[info.Name]; ok {
		info.Enabled = was.Enabled
	}
	record[info.Name] = *info
	return nil
}

// change lets f change the record and the directories that it describes, and nobody else meanwhile.
func (s *Store) change(ctx context.Context, f func(record map[string]Info) error) error {
	unlock, err := filelock.Lock(ctx, filepath.Join(s.dir, ".lock"))
	if err != nil {
		return fmt.Errorf("lock the installed things: %w", err)
	}
	defer unlock()
	record, err := s.reconcile()
	if err == nil {
		err = f(record)
	}
	if err != nil {
		return err
	}
	return s.write(record)
}

// List returns the installed things, sorted by name: recorded directories that
// exist, and directories that were copied into the store by hand.
func (s *Store) List() ([]Info, error) {
	record, err := s.reconcile()
	list := make([]Info, 0, len(record))
	for _, name := range slices.Sorted(maps.Keys(record)) {
		list = append(list, record[name])
	}
	return list, err
}

// reconcile is the record as the directory has it now.
func (s *Store) reconcile() (record map[string]Info, err error) {
	if record, err = s.read(); err != nil {
		return nil, err
	}
	for name := range record {
		if !Name().MatchString(name) || !isDir(filepath.Join(s.dir, name)) {
			delete(record, name)
		}
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // nothing was ever installed
		return nil, fmt.Errorf("list the installed things: %w", err)
	}
	for _, e := range entries {
		at := filepath.Join(s.dir, e.Name())
		if _, known := record[e.Name()]; known || !Name().MatchString(e.Name()) || !isDir(at) {
			continue
		}
		name, version, description, err := s.load(at)
		if err != nil || name != e.Name() {
			continue
		}
		record[e.Name()] = Info{
			Name: name, Version: version, Description: description, Enabled: true,
			Source: "local", InstalledAt: stamp(changed(at)), InstallPath: at,
		}
	}
	return record, nil
}

// Get returns one. The error is of kind fault.NotFound if it is not installed.
func (s *Store) Get(name string) (Info, error) {
	record, err := s.reconcile()
	if err != nil {
		return Info{}, err
	}
	info, ok := record[name]
	if !ok {
		return Info{}, missing(name)
	}
	return info, nil
}

func missing(name string) error { return fault.New(fault.NotFound, name+" is not installed") }

// SetEnabled enables or disables one.
func (s *Store) SetEnabled(ctx context.Context, name string, enabled bool) error {
	if _, err := s.Get(name); err != nil {
		return err
	}
	return s.change(ctx, func(record map[string]Info) error {
		info, ok := record[name]
		if !ok {
			return missing(name)
		}
		info.Enabled = enabled
		record[name] = info
		return nil
	})
}

// Uninstall removes one.
func (s *Store) Uninstall(ctx context.Context, name string) error {
	if _, err := s.Get(name); err != nil {
		return err
	}
	return s.change(ctx, func(record map[string]Info) error {
		if _, ok := record[name]; !ok {
			return missing(name)
		}
		delete(record, name)
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		return nil
	})
}

// recordFile is the reference's name for the record.
const recordFile = ".installed.json"

// read returns the record. Where it cannot be read nobody knows which are disabled.
func (s *Store) read() (map[string]Info, error) {
	var file struct {
		Extensions map[string]Info `json:"extensions"`
	}
	name := filepath.Join(s.dir, recordFile)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Info{}, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		return nil, fault.New(fault.Corrupt, "the record "+name+" cannot be read").Because(err).Hint("repair it, or remove it: everything in its directory counts as enabled then")
	}
	if file.Extensions == nil {
		file.Extensions = map[string]Info{}
	}
	return file.Extensions, nil
}

// UnmarshalJSON reads an entry; one without "enabled" is enabled.
func (i *Info) UnmarshalJSON(b []byte) error {
	type plain Info
	p := plain{Enabled: true}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*i = Info(p)
	return nil
}

// write replaces the record.
func (s *Store) write(record map[string]Info) error {
	b, err := json.MarshalIndent(map[string]any{"extensions": record}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record: %w", err)
	}
	f, err := os.CreateTemp(s.dir, ".record-*")
	if err != nil {
		return fmt.Errorf("write the record: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, recordFile))
	}
	if err != nil {
		return fmt.Errorf("write the record: %w", err)
	}
	return nil
}

func isDir(at string) bool {
	info, err := os.Stat(at)
	return err == nil && info.IsDir()
}

func changed(at string) (t time.Time) {
	if info, err := os.Stat(at); err == nil {
		t = info.ModTime()
	}
	return t
}

// stamp writes a time as the reference does here: UTC, with microseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") + "+00:00" }
