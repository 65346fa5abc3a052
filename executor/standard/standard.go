// Package standard has the executors that ship with Deft for actions with an effect on the
// sandbox, including programs of any language (docs/executors.md).
//
// # Usage
//
//	all, err := standard.New(standard.Config{Workspace: dir, Scratch: scratch, Env: env})
//	all, err := standard.WithProgram("/opt/deploy.py", config) // what it names runs there
//
// Both sides of a sandbox use it: the program inside, and the process outside where a
// conversation has no sandbox.
//
// # Concurrency and failure
//
// New and WithProgram are safe for concurrent use; their results belong to the caller, who
// closes each executor. The errors of a program come from executor/external.
package standard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor/external"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
	_ "github.com/deft-dev/deft/tool/builtin" // registers the tools
	"github.com/deft-dev/deft/tool/command"
	"github.com/deft-dev/deft/tool/files"
	"github.com/deft-dev/deft/tool/invokeskill"
	"github.com/deft-dev/deft/tool/ipython"
	"github.com/deft-dev/deft/tool/program"
	"github.com/deft-dev/deft/tool/switchllm"
	"github.com/deft-dev/deft/tool/terminal"
)

// Config has the inputs of executors.
type Config struct {
	Workspace string
	// Scratch is a directory for results that do not fit into an event.
	Scratch string
	Env     []string // of commands
	// Network is the set of hosts that commands in a sandbox reach; "" outside of one.
	Network sandbox.Network
	// Command changes how programs are started; nil for the ordinary way.
	Command func(path string, args []string) (string, []string)
	// Masked are values that no log may show.
	Masked []string
	// Log gets failures of executors; nil for nothing.
	Log *slog.Logger
	// Shells starts shells; nil for the ordinary way.
	Shells *terminal.Starter
	// Shell changes how the shell is configured; nil for nothing.
	Shell func(*terminal.Config)
}

// New makes the executors of the registered tools that have an effect on the sandbox, and
// the one that runs programs for Deft itself.
func New(c Config) (map[string]tool.Executor, error) {
	shell := terminal.Config{
		WorkingDir: c.Workspace, Env: c.Env, OutputDir: filepath.Join(c.Scratch, "output"), Starter: c.Shells,
		Command: c.Command,
	}
	explain := func(x tool.Executor) tool.Executor { return x }
	notebook := explain
	var home *ownHome
	if c.Network != "" {
		paths := pathHint{
			workspace: c.Workspace, home: os.Getenv("HOME"), system: process.IsSystemPath, private: process.IsPrivatePath,
			hidden: os.Getpid() == 1, // with a PID namespace there are mounts, too
		}
		network := networkHint{network: c.Network, since: time.Now()}
		if !c.Network.None() {
			network.refused = func(ctx context.Context, within time.Duration) ([]string, error) {
				return process.Refused(ctx, c.Env, within)
			}
		}
		if paths.hidden {
			home = newOwnHome(c.Workspace, paths.home, paths.system)
		}
		shell.Explain = func(command, output string, status int, dir string) string {
			hint := network.explain(output, status)
			if hint == "" {
				hint = limitHint(command, output, status)
			}
			if hint == "" && status != 0 {
				hint = paths.explain(output, dir)
			}
			if hint == "" {
				hint = home.written(command)
			}
			return hint
		}
		explain = func(x tool.Executor) tool.Executor { return explained{x, paths} }
		notebook = func(x tool.Executor) tool.Executor { return cells{x, network} }
	}
	if c.Shell != nil {
		c.Shell(&shell)
	}
	own, err := files.New(files.Config{Workspace: c.Workspace, UndoDir: filepath.Join(c.Scratch, "undo"), Guard: home.guard})
	if err != nil {
		return nil, err
	}
	all := map[string]tool.Executor{command.ActionKind: command.New(c.Env, c.Command)}
	for _, t := range tool.Registered() {
		if t.New == nil {
			continue
		}
		x, err := t.New(tool.Place{Workspace: c.Workspace, Files: own, Scratch: c.Scratch, Env: c.Env, Command: c.Command, Isolated: c.Network != ""})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("set up the tool %s: %w", t.Name, err), closeAll(all))
		}
		for _, d := range t.Definitions(tool.Model{}) {
			all[d.ActionKind] = explain(x)
		}
		for _, kind := range t.Kinds {
			all[kind] = x
		}
	}
	all[ipython.ActionKind] = notebook(all[ipython.ActionKind])
	all[terminal.Definition().ActionKind] = terminal.NewShells(shell)
	return all, nil
}

// WithProgram makes the standard executors, and a program's for the actions
// that it names.
func WithProgram(file string, c Config) (map[string]tool.Executor, error) {
	p, err := external.Start(context.Background(), external.Options{
		Path: file, Workspace: c.Workspace, Env: c.Env, Reserved: reserved(), Masked: c.Masked, Log: c.Log,
		Starter: program.New(program.Options{Env: c.Env, Dir: c.Workspace, Command: c.Command}),
	})
	if err != nil {
		return nil, err
	}
	all, err := New(c)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	for _, kind := range p.Kinds() {
		old := all[kind]
		all[kind] = p
		if old != nil {
			if err := old.Close(); err != nil {
				return nil, errors.Join(err, closeAll(all))
			}
		}
	}
	return all, nil
}

// closeAll closes executors; one that stands for several kinds is closed for each.
func closeAll(all map[string]tool.Executor) error {
	var errs []error
	for _, x := range all {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}

// reserved are the kinds of actions that run beside the controller, and the kind of
// programs that Deft runs for itself.
func reserved() []string {
	kinds := []string{
		invokeskill.Definition().ActionKind, switchllm.Definition(nil).ActionKind, (&event.MCPToolAction{}).Kind(), command.ActionKind,
	}
	for _, t := range tool.Registered() {
		if t.Local == nil {
			continue
		}
		for _, d := range t.Definitions(tool.Model{}) {
			kinds = append(kinds, d.ActionKind)
		}
	}
	return kinds
}
