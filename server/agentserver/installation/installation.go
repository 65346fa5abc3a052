// Package installation keeps skills and plugins that a user installed: it fetches
// them from a directory or a Git repository, copies them to one directory, and
// records them in .installed.json, which the reference reads and writes as well.
//
// # Usage
//
//	store := installation.New(dir, load)
//	info, err := store.Install(ctx, installation.Source{Source: "github:owner/repo"}, false)
//
// # Trust
//
// Installed things are hostile until the user trusts them. Links that lead out of
// them are refused, sizes are bounded, and Git gets its arguments as a list and
// runs without hooks, filters or the user's configuration. Only Install, Update and
// Clone use the network.
//
// # Concurrency and failure
//
// A Store is safe for concurrent use. A failed installation leaves the previous
// one. Errors are [ErrFetch] for a source that cannot be fetched, fault.Invalid for
// one without anything valid, and fault.Conflict for a name that is installed.
package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// ErrFetch is in the chain of an error about a source that cannot be read.
var ErrFetch = errors.New("the source cannot be fetched")

// Name matches the names of installed things.
var Name = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// NamePattern is [Name] as the API shows it.
const NamePattern = `^[a-z0-9]+(-[a-z0-9]+)*$`

// Source is where a thing comes from.
type Source struct {
	Source   string  `json:"source"`    // a directory, a Git URL, or github:owner/repo[/path]
	Ref      *string `json:"ref"`       // branch, tag or commit; nil for the default branch
	RepoPath *string `json:"repo_path"` // directory inside; nil for the root
}

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

// Described is the description of a directory.
type Described struct {
	Name, Version, Description string
}

// Load reads a directory. An error of kind fault.Invalid says that it contains
// nothing valid.
type Load func(dir string) (Described, error)

// Store is a directory of installed things. Make one with [New].
type Store struct {
	dir  string
	load Load

	mu sync.Mutex // held while the directory or the record changes
}

// New returns the store of a directory, which the first installation creates.
func New(dir string, load Load) *Store { return &Store{dir: dir, load: load} }

// Dir returns the store's directory.
func (s *Store) Dir() string { return s.dir }

// Install fetches a thing and copies it into the store. force replaces one of its
// name, which stays disabled if it was.
func (s *Store) Install(ctx context.Context, from Source, force bool) (Info, error) {
	return s.install(ctx, from, force, "")
}

// Update installs a thing again from its source, at its default branch. The error
// is of kind fault.NotFound if it is not installed.
func (s *Store) Update(ctx context.Context, name string) (Info, error) {
	old, err := s.Get(name)
	if err != nil {
		return Info{}, err
	}
	return s.install(ctx, Source{Source: old.Source, RepoPath: old.RepoPath}, true, name)
}

func (s *Store) install(ctx context.Context, from Source, force bool, rootName string) (Info, error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return Info{}, fmt.Errorf("make the directory of installed things: %w", err)
	}
	temp, err := os.MkdirTemp(s.dir, ".new-*")
	if err != nil {
		return Info{}, fmt.Errorf("install: %w", err)
	}
	defer os.RemoveAll(temp)
	got, err := fetch(ctx, from, temp, rootName)
	if err != nil {
		return Info{}, err
	}
	what, err := s.load(got.dir)
	if err != nil {
		return Info{}, err
	}
	if len(what.Name) > 255 || !Name().MatchString(what.Name) {
		return Info{}, fault.New(fault.Invalid, fmt.Sprintf("the name %q must be of lower case letters, digits and single hyphens", what.Name))
	}
	info := Info{
		Name: what.Name, Version: what.Version, Description: what.Description, Enabled: true,
		Source: from.Source, RequestedRef: from.Ref, ResolvedRef: got.commit, RepoPath: from.RepoPath,
		InstalledAt: now(), InstallPath: filepath.Join(s.dir, what.Name),
	}
	return info, s.place(&info, got.dir, temp, force)
}

// place moves a fetched directory into the store and records it.
func (s *Store) place(info *Info, fetched, temp string, force bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	record := s.read()
	_, err := os.Lstat(info.InstallPath)
	if err == nil && !force {
		return fault.New(fault.Conflict, info.Name+" is installed already")
	}
	ready := filepath.Join(temp, "ready")
	if err := copyTree(fetched, ready); err != nil {
		return err
	}
	if err == nil {
		if err := os.Rename(info.InstallPath, filepath.Join(temp, "old")); err != nil {
			return fmt.Errorf("replace %s: %w", info.Name, err)
		}
	}
	if err := os.Rename(ready, info.InstallPath); err != nil {
		return fmt.Errorf("install %s: %w", info.Name, err)
	}
	if old, ok := record[info.Name]; ok {
		info.Enabled = old.Enabled
	}
	record[info.Name] = *info
	return s.write(record)
}

// List returns the installed things, sorted by name: recorded directories that
// exist, and directories that were copied into the store by hand.
func (s *Store) List() ([]Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, changed := s.reconcile()
	if changed {
		if err := s.write(record); err != nil {
			return nil, err
		}
	}
	list := make([]Info, 0, len(record))
	for _, name := range slices.Sorted(maps.Keys(record)) {
		list = append(list, record[name])
	}
	return list, nil
}

// reconcile updates the record from the directory.
func (s *Store) reconcile() (record map[string]Info, changed bool) {
	record = s.read()
	for name := range record {
		if !Name().MatchString(name) || !isDir(filepath.Join(s.dir, name)) {
			delete(record, name)
			changed = true
		}
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return record, changed // nothing was ever installed
	}
	for _, e := range entries {
		at := filepath.Join(s.dir, e.Name())
		if _, known := record[e.Name()]; known || !Name().MatchString(e.Name()) || !isDir(at) {
			continue
		}
		what, err := s.load(at)
		if err != nil || what.Name != e.Name() {
			continue
		}
		record[e.Name()] = Info{
			Name: what.Name, Version: what.Version, Description: what.Description, Enabled: true,
			Source: "local", InstalledAt: now(), InstallPath: at,
		}
		changed = true
	}
	return record, changed
}

// Get returns one. The error is of kind fault.NotFound if it is not installed.
func (s *Store) Get(name string) (Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, _ := s.reconcile()
	info, ok := record[name]
	if !ok {
		return Info{}, fault.New(fault.NotFound, name+" is not installed")
	}
	return info, nil
}

// SetEnabled enables or disables one.
func (s *Store) SetEnabled(name string, enabled bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, _ := s.reconcile()
	info, ok := record[name]
	if !ok {
		return fault.New(fault.NotFound, name+" is not installed")
	}
	info.Enabled = enabled
	record[name] = info
	return s.write(record)
}

// Uninstall removes one.
func (s *Store) Uninstall(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, _ := s.reconcile()
	if _, ok := record[name]; !ok {
		return fault.New(fault.NotFound, name+" is not installed")
	}
	delete(record, name)
	if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return s.write(record)
}

// recordFile is the reference's name for the record.
const recordFile = ".installed.json"

// read returns the record. An unreadable one counts as empty, as in the reference:
// reconcile finds the directories.
func (s *Store) read() map[string]Info {
	var file struct {
		Extensions map[string]Info `json:"extensions"`
	}
	b, err := os.ReadFile(filepath.Join(s.dir, recordFile))
	if err != nil || json.Unmarshal(b, &file) != nil || file.Extensions == nil {
		return map[string]Info{}
	}
	return file.Extensions
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

// now is the time as the reference writes it here: UTC, with microseconds.
func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000") + "+00:00" }

// Shown returns a source without the credentials of a URL.
func Shown(source string) string {
	scheme, rest, ok := strings.Cut(source, "://")
	if !ok {
		return source
	}
	authority, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		return scheme + "://****@" + authority[i+1:] + "/" + path
	}
	return source
}
