package build

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/command"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/glob"
	"github.com/deft-dev/deft/tool/grep"
	"github.com/deft-dev/deft/tool/tasktracker"
	"github.com/deft-dev/deft/tool/terminal"
	"github.com/deft-dev/deft/tool/think"
)

// ExecutorConfig is what executors are made from.
type ExecutorConfig struct {
	Workspace string
	// Scratch is a directory for what does not fit into an event.
	Scratch string
	Env     []string // of commands
	// Network is what commands in a sandbox reach; "" outside of one.
	Network sandbox.Network
	// Command changes how programs are started; nil for the ordinary way.
	Command func(path string, args []string) (string, []string)
	// Shells starts shells; nil for the ordinary way.
	Shells *terminal.Starter
}

// NewExecutors makes the executors of the built-in tools that have an effect on
// the sandbox: terminal, file editor, glob, grep, and the one that runs
// programs for Deft itself.
func NewExecutors(c ExecutorConfig) (map[string]tool.Executor, error) {
	edit, err := editor.New(editor.Config{Workspace: c.Workspace, UndoDir: filepath.Join(c.Scratch, "undo")})
	if err != nil {
		return nil, err
	}
	shell := terminal.Config{
		WorkingDir: c.Workspace, Env: c.Env, OutputDir: filepath.Join(c.Scratch, "output"), Starter: c.Shells,
		Command: c.Command,
	}
	if c.Network != "" {
		paths := pathHint{
			workspace: c.Workspace, home: os.Getenv("HOME"), system: process.IsSystemPath,
			hidden: os.Getpid() == 1, // with a PID namespace there are mounts, too
		}
		shell.Explain = func(output string) string {
			return cmp.Or(networkHint(c.Network, output), paths.explain(output))
		}
	}
	return map[string]tool.Executor{
		terminal.Definition().ActionKind: terminal.New(shell),
		editor.Definition().ActionKind:   edit,
		glob.Definition().ActionKind:     glob.New(glob.Config{Workspace: c.Workspace}),
		grep.Definition().ActionKind:     grep.New(grep.Config{Workspace: c.Workspace}),
		command.ActionKind:               command.New(c.Env, c.Command),
	}, nil
}

// localTools are the executors of tools that run beside the controller.
func localTools(tasks func() []event.TaskItem) map[string]tool.Executor {
	return map[string]tool.Executor{
		tasktracker.Definition().ActionKind: tasktracker.New(tasks),
		finish.Definition().ActionKind:      finish.New(),
		think.Definition().ActionKind:       think.New(),
	}
}
