package bootstrap

import (
	"errors"
	"os"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Enter makes the environment and the working directory of this process the assigned ones.
// The first directory that can be made is the one.
func (a *Assigned) Enter() error {
	for _, kv := range a.Env {
		name, value, _ := strings.Cut(kv, "=")
		if err := os.Setenv(name, value); err != nil {
			return fault.Wrap(err, fault.Invalid, "set a variable")
		}
	}
	var errs []error
	for _, dir := range a.Dirs {
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.Chdir(dir)
		}
		if err == nil {
			a.Dir = dir
			return nil
		}
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return fault.Wrap(errors.Join(errs...), fault.Denied, "enter the working directory")
	}
	dir, err := os.Getwd()
	a.Dir = dir
	return err
}
