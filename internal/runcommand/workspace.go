package runcommand

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// systemDirs are no workspaces: an agent that may write in one of them owns
// the machine.
var systemDirs = []string{
	"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/var",
}

const useProject = "give a project's directory with --workspace"

// Workspace resolves and checks the directory to work in. data is the directory
// of Deft's own data; home, unless empty, is that of the user. The error is of
// kind Invalid or Denied.
func Workspace(dir, data, home string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fault.New(fault.Invalid, "the workspace cannot be used").Because(err).Hint(useProject)
	}
	st, err := os.Stat(abs)
	if err == nil && !st.IsDir() {
		return "", fault.New(fault.Invalid, "the workspace "+abs+" is not a directory").Hint(useProject)
	}
	if err == nil {
		err = readable(abs)
	}
	if err != nil {
		return "", fault.New(fault.Denied, "the workspace cannot be read").Because(err).
			Hint("check its permissions, or give another directory with --workspace")
	}
	return abs, apart(abs, data, home)
}

// readable tries to list a directory.
func readable(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.ReadDir(1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// apart refuses workspaces in which the agent could change more than a
// project: the system, the user's shell start-up files, Deft's own data.
func apart(ws, data, home string) error {
	real := func(path string) string {
		if r, err := filepath.EvalSymlinks(path); err == nil {
			return r
		}
		return filepath.Clean(path)
	}
	switch {
	case slices.Contains(systemDirs, ws):
		return fault.New(fault.Invalid, "the workspace cannot be the system directory "+ws).Hint(useProject)
	case home != "" && home != "/" && beneath(real(home), ws):
		return fault.New(fault.Invalid, "the workspace "+ws+" holds your home directory, whose start-up files an agent must not write").Hint(useProject)
	case beneath(ws, real(data)):
		return fault.New(fault.Invalid, "the workspace "+ws+" lies in Deft's own data").Hint(useProject)
	}
	return nil
}

// beneath reports whether path is dir or lies in it; both are clean.
func beneath(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
