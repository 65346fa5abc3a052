package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/llm"
)

// Limits of the store (docs/openhands/sdk-features.md section 1, "Profiles").
const (
	maxProfiles = 50
	maxProfile  = 64 << 10 // bytes
	lockWait    = 30 * time.Second
)

// lockFile is what writers lock, in the directory of the profiles.
const lockFile = ".lock"

// Profiles stores profiles as files in a directory: name.json, readable by the
// user only. Processes may share it: writers take a lock, and files are
// replaced atomically.
type Profiles struct{ dir string }

// Dir is the directory of a user's profiles: deft/profiles below
// $XDG_CONFIG_HOME or ~/.config. It is "" where neither is set.
func Dir(env func(string) string) string {
	if dir := llm.UserDir(env); dir != "" {
		return filepath.Join(dir, "profiles")
	}
	return ""
}

// OpenProfiles opens the store in a directory and creates it if missing.
func OpenProfiles(dir string) (*Profiles, error) {
	if dir == "" {
		return nil, fault.New(fault.Invalid, "there is no directory for profiles").Hint("set HOME or XDG_CONFIG_HOME")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "create the directory of the profiles")
	}
	return &Profiles{dir}, nil
}

func (s *Profiles) path(name string) string { return filepath.Join(s.dir, name+".json") }

// Names returns the names of all profiles, sorted.
func (s *Profiles) Names() ([]string, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "list the profiles")
	}
	var out []string
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".json")
		if ok && f.Type().IsRegular() && names.MatchString(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Get returns a profile. Errors are of kind NotFound, and of kind Invalid or
// Unsupported if this version cannot use the file.
func (s *Profiles) Get(name string) (Profile, error) {
	if err := checkName(name); err != nil {
		return Profile{}, err
	}
	f, err := os.Open(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		e := fault.New(fault.NotFound, "there is no profile "+name)
		if all, err := s.Names(); err == nil && len(all) > 0 {
			e = e.Hint("the profiles are: " + strings.Join(all, ", "))
		}
		return Profile{}, e
	}
	if err != nil {
		return Profile{}, fault.Wrap(err, fault.Denied, "read the profile "+name)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxProfile+1))
	if err != nil {
		return Profile{}, fault.Wrap(err, fault.Denied, "read the profile "+name)
	}
	if len(data) > maxProfile {
		return Profile{}, fault.New(fault.Invalid, "the profile "+name+" is larger than 64 KiB")
	}
	p, err := decodeProfile(data)
	if err != nil {
		return Profile{}, fmt.Errorf("read the profile %s: %w", name, err)
	}
	return p, nil
}

// Put stores a profile, or replaces the one of that name, atomically. Errors
// are of kind Invalid for an invalid profile, Limit for the 51st.
func (s *Profiles) Put(ctx context.Context, name string, p Profile) error {
	p.SchemaVersion = schemaVersion
	if err := errors.Join(checkName(name), p.Check()); err != nil {
		return err
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("write the profile %s: %w", name, err)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := s.Names()
	if err != nil {
		return err
	}
	if len(all) >= maxProfiles && !slices.Contains(all, name) {
		return fault.New(fault.Limit, fmt.Sprintf("there are already %d profiles, the maximum", len(all))).Hint("delete one first")
	}
	if err := write(s.path(name), append(data, '\n')); err != nil {
		return err
	}
	if p.APIKeyFile == s.keyPath(name) {
		return nil
	}
	return s.deleteKey(name)
}

// write replaces a file atomically. Its mode is 0600.
func write(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fault.Wrap(err, fault.Denied, "write "+path)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fault.Wrap(errors.Join(err, os.Remove(f.Name())), fault.Denied, "write "+path)
	}
	return nil
}

// Delete removes a profile, and its key if [Profiles.PutKey] stored it. Errors
// are of kind NotFound, and Conflict while a service or another profile refers
// to it.
func (s *Profiles) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.checkUnused(name); err != nil {
		return err
	}
	err = os.Remove(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "there is no profile "+name)
	}
	if err != nil {
		return fault.Wrap(err, fault.Denied, "delete the profile "+name)
	}
	return s.deleteKey(name)
}

// checkUnused fails with kind Conflict if a profile is in use.
func (s *Profiles) checkUnused(name string) error {
	assigned, err := s.Services()
	if err != nil {
		return err
	}
	for _, service := range slices.Sorted(maps.Keys(assigned)) {
		if assigned[service] == name {
			return fault.New(fault.Conflict, "the profile "+name+" is in use by the service "+service).Hint("assign another profile to the service first")
		}
	}
	all, err := s.Names()
	if err != nil {
		return err
	}
	for _, other := range all {
		p, err := s.Get(other)
		if err != nil || other == name { // a damaged profile uses none
			continue
		}
		if p.Vision == name || slices.Contains(p.Fallback, name) {
			return fault.New(fault.Conflict, "the profile "+other+" refers to "+name).Hint("change that profile first")
		}
	}
	return nil
}

// lock excludes other writers, in this process and others. It waits at most 30
// s.
func (s *Profiles) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err = filelock.Lock(ctx, filepath.Join(s.dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("lock the profiles: %w", err)
	}
	return unlock, nil
}
