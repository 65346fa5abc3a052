package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/cli/demo"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

// demoCmd replays the bundled session.
type demoCmd struct {
	Dir     string `help:"Where to put the small repository (default: a new temporary directory)." type:"path"`
	Sandbox string `help:"Isolation: ${demo_choice_help}." enum:"${sandbox_choices}" default:"auto" env:"DEFT_SANDBOX"`
}

// Help is shown by `deft demo --help`.
func (c *demoCmd) Help() string {
	return `Unpacks a small repository with a failing test and replays a recorded session in it: the
recording says what to do, and the tools really do it, in the real sandbox. Nothing is sent
anywhere and no key is needed. At the end the test is run once more to show that it passes.`
}

// Run unpacks, replays and checks.
func (c *demoCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	p, err := findPaths(g.Data, std.Env)
	if err != nil {
		return err
	}
	dir, err := c.unpack(p, std.Env("HOME"))
	if err != nil {
		return err
	}
	evs, err := demo.Session(dir)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, p)
	if err != nil {
		return err
	}
	defer store.Close()
	fmt.Fprintf(std.Err, "A replay of a recorded session, with real tools, in %s\n\n", dir)
	r := newForeground(std, p, store, newView(&runCmd{}, std, g))
	r.sandbox = c.Sandbox
	id := event.NewConversationID()
	err = r.run(ctx, runcommand.Options{
		ID: id, Replay: evs,
		Spec: func() (session.Spec, error) {
			s := session.Spec{Title: demo.Task, Setup: session.DefaultSetup(), Placement: r.placement()}
			s.Workspace.WorkingDir, s.Autotitle = dir, false
			s.Agent, err = runcommand.NewAgent(runcommand.Models{}, nil, nil, "")
			return s, err
		},
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.Err, `
Look at the result:   cat %s
Look at the session:  deft conversations show %s
Remove both:          rm -r %s; deft conversations delete --yes %[2]s
Your own task:        LLM_MODEL=… LLM_API_KEY=… deft run "…"
`, stdio.Quoted(filepath.Join(dir, "slug.sh")), id, stdio.Quoted(dir))
	return err
}

func (c *demoCmd) unpack(p paths, home string) (string, error) {
	dir, err := c.Dir, error(nil)
	if dir == "" {
		dir, err = os.MkdirTemp("", "deft-demo-")
	} else {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		dir, err = runcommand.Workspace(dir, p.data, home)
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return dir, err
	}
	return dir, fault.Wrap(err, fault.Denied, "make the directory of the demo")
}
