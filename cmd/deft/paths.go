package main

import (
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/internal/fault"
)

// paths are where Deft keeps things (XDG Base Directory Specification).
type paths struct{ data string }

func findPaths(data string, env func(string) string) (paths, error) {
	if data == "" {
		base := env("XDG_DATA_HOME")
		if !filepath.IsAbs(base) { // the specification ignores relative ones
			home := env("HOME")
			if home == "" {
				return paths{}, fault.New(fault.Invalid, "neither HOME nor XDG_DATA_HOME is set").
					Hint("set DEFT_DATA to a directory for Deft's data")
			}
			base = filepath.Join(home, ".local", "share")
		}
		data = filepath.Join(base, "deft")
	}
	abs, err := filepath.Abs(data)
	if err != nil {
		return paths{}, fault.Wrap(err, fault.Invalid, "find the data directory")
	}
	return paths{data: abs}, nil
}

func (p paths) store() string     { return filepath.Join(p.data, "events") }
func (p paths) sandboxes() string { return filepath.Join(p.data, "sandboxes") }
func (p paths) locks() string     { return filepath.Join(p.data, "locks") }

// workspace resolves and checks the directory to work in.
func workspace(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fault.New(fault.Invalid, "the workspace "+dir+" cannot be used").Because(err).
			Hint("give an existing directory with --workspace")
	}
	d, err := os.Open(abs)
	if err != nil {
		return "", fault.New(fault.Denied, "the workspace "+abs+" cannot be read").Because(err).
			Hint("check its permissions, or give another directory with --workspace")
	}
	defer d.Close()
	if _, err := d.ReadDir(1); err != nil && err.Error() != "EOF" {
		return "", fault.New(fault.Invalid, "the workspace "+abs+" is not a directory that can be read").Because(err).
			Hint("give a directory with --workspace")
	}
	return abs, nil
}
