package runcommand

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/permission"
)

// noHooks is the value of --hooks for no hooks at all.
const noHooks = "none"

// ReadHooks reads hooks from files, of which earlier ones run first. Nil for no hooks, and for
// the only file [noHooks]. The error is of kind Invalid.
func ReadHooks(files ...string) (*hook.Config, error) {
	if len(files) == 1 && files[0] == noHooks {
		return nil, nil
	}
	var all []*hook.Config
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return nil, fault.New(fault.Invalid, "the file of hooks cannot be read").Because(err).Hint("check --hooks")
		}
		raw, err := readConfig(f)
		var c *hook.Config
		if err == nil {
			c, err = hook.Parse(raw)
		}
		if err != nil {
			return nil, inFile(err, "the hooks of "+file, "--hooks")
		}
		all = append(all, c)
	}
	return hook.Merge(all...), nil
}

// UserHooks reads the user's file of hooks; nil if there is none. tell is called where the
// directory of another user does not say so.
func UserHooks(file string, tell func(string)) (*hook.Config, error) {
	if !there(file, tell) {
		return nil, nil
	}
	return ReadHooks(file)
}

func there(file string, tell func(string)) bool {
	_, err := os.Stat(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tell("note: look for your hooks: " + err.Error() + "; going on without them")
	}
	return err == nil
}

// Hooks returns the hooks of the project's file, if the user allows them; none if he refuses them, and nil if he has
// not answered, or there is nothing to allow.
func (p Project) Hooks(ctx context.Context) (*session.AllowedHooks, error) {
	raw, err := p.read(hook.ProjectFile)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, p.tellNotRun()
	}
	c, err := hook.Parse(raw)
	if err != nil {
		p.Tell("the project's " + hook.ProjectFile + " is not used: " + safeText(schema.Located(err).Error()))
		return nil, nil
	}
	if c = hook.Merge(c); c == nil {
		return nil, nil
	}
	answer, err := p.answer(ctx, raw, programs{
		file: hook.ProjectFile, what: "hooks", flag: "--hooks " + hook.ProjectFile, again: "--ask-hooks",
		sandboxed: "Commands run in the sandbox, with the rights of the agent's commands; prompts and agents use your model:",
		open:      "There is no sandbox, so commands run with your rights; prompts and agents use your model:",
		show:      c.Words(),
	})
	switch {
	case err != nil || answer == permission.None:
		return nil, err
	case answer == permission.Refused:
		return &session.AllowedHooks{}, nil
	}
	return &session.AllowedHooks{SHA256: permission.Sum(raw), Hooks: c}, nil
}

// tellNotRun names a file with hooks for another program.
func (p Project) tellNotRun() error {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	if file, why := hook.NotRun(root.FS()); file != "" {
		p.Tell("the project's " + file + ": " + why)
	}
	return nil
}
