package runcommand

import "github.com/deft-dev/deft/internal/workspacedir"

// Workspace resolves and checks the directory to work in. data is the directory of
// Deft's own data; home, unless empty, is the user's. The error is of kind Invalid
// or Denied.
func Workspace(dir, data, home string) (string, error) {
	return workspacedir.Rules{Home: home, Data: []string{data}, Hint: "give a project's directory with --workspace"}.Existing(dir)
}
