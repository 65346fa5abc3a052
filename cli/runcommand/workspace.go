package runcommand

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/workspacedir"
)

const useProject = "give a project's directory with --workspace"

// Workspace resolves and checks the directory to work in. data is the directory of
// Deft's own data; home, unless empty, is the user's. The error is of kind Invalid
// or Denied.
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
	return workspacedir.Rules{Home: home, Data: []string{data}}.Check(abs)
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
