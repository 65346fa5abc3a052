package build

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor/external"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/command"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/glob"
	"github.com/deft-dev/deft/tool/grep"
	"github.com/deft-dev/deft/tool/invokeskill"
	"github.com/deft-dev/deft/tool/program"
	"github.com/deft-dev/deft/tool/switchllm"
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
	// Masked are values that no log may show.
	Masked []string
	// Log gets what goes wrong with executors; nil for nothing.
	Log *slog.Logger
	// Shells starts shells; nil for the ordinary way.
	Shells *terminal.Starter
	// Shell changes how the shell is configured; nil for nothing.
	Shell func(*terminal.Config)
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
		network := networkHint{network: c.Network, since: time.Now()}
		if !c.Network.None() {
			network.refused = func(ctx context.Context, within time.Duration) ([]string, error) {
				return process.Refused(ctx, c.Env, within)
			}
		}
		shell.Explain = func(output string, status int) string {
			hint := network.explain(output, status)
			if hint == "" && status != 0 {
				hint = paths.explain(output)
			}
			return hint
		}
	}
	if c.Shell != nil {
		c.Shell(&shell)
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

// ProgramExecutor begins the name of an executor class that is a program: the path of
// the program follows. docs/executors.md says what it is.
const ProgramExecutor = "exec:"

// AbsoluteExecutor returns the name of an executor class with the path of a program
// made absolute.
func AbsoluteExecutor(class string) (string, error) {
	file, ok := strings.CutPrefix(class, ProgramExecutor)
	if !ok || file == "" {
		return class, nil
	}
	file, err := filepath.Abs(file)
	return ProgramExecutor + file, fault.Wrap(err, fault.Invalid, "find the executor program")
}

// Executor returns an executor class by its name. The error is of kind
// fault.Invalid.
func (c Classes) Executor(name string) (ExecutorClass, error) {
	if file, ok := strings.CutPrefix(name, ProgramExecutor); ok {
		return func(o ExecutorConfig) (map[string]tool.Executor, error) { return newProgramExecutors(file, o) }, nil
	}
	if class := c.Executors[name]; class != nil {
		return class, nil
	}
	known := maps.Clone(c.Executors)
	if known == nil {
		known = map[string]ExecutorClass{}
	}
	known[ProgramExecutor+"PATH"] = nil
	return nil, unknownClass("executor", name, known)
}

// CheckExecutor returns why an executor class cannot be used on this machine: there is no
// such class, or no such program. It does not run the program.
func (c Classes) CheckExecutor(name string) error {
	if _, err := c.Executor(name); err != nil {
		return err
	}
	file, ok := strings.CutPrefix(name, ProgramExecutor)
	switch {
	case !ok:
		return nil
	case file == "":
		return fault.New(fault.Invalid, "the executor class "+ProgramExecutor+" names no program").Hint("write " + ProgramExecutor + "PATH")
	}
	return external.Check(file)
}

// OwnTools are the tools whose actions the executors run beside the built-in ones: those
// that a program brings, and those that linked packages have registered. The error is of
// kind fault.Invalid.
func (c Classes) OwnTools(executors map[string]tool.Executor) (*tool.Set, error) {
	var own []*tool.Definition
	for _, t := range tool.OfferedBy(executors) {
		own = append(own, t.Definition())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		if d := c.Tools[name]; executors[d.ActionKind] != nil {
			own = append(own, d)
		}
	}
	return tool.NewSet(own...)
}

// newProgramExecutors makes the standard executors, and a program's for the actions
// that it names.
func newProgramExecutors(file string, c ExecutorConfig) (map[string]tool.Executor, error) {
	p, err := external.Start(context.Background(), external.Options{
		Path: file, Workspace: c.Workspace, Env: c.Env, Reserved: besideKinds(), Masked: c.Masked, Log: c.Log,
		Starter: program.New(program.Options{Env: c.Env, Dir: c.Workspace, Command: c.Command}),
	})
	if err != nil {
		return nil, err
	}
	all, err := NewExecutors(c)
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

// besideKinds are the kinds of actions that run beside the controller, and that of
// the programs that Deft runs for itself.
func besideKinds() []string {
	kinds := slices.Collect(maps.Keys(localTools(nil)))
	return append(kinds, command.ActionKind, (&event.MCPToolAction{}).Kind(),
		invokeskill.Definition().ActionKind, switchllm.Definition(nil).ActionKind)
}
