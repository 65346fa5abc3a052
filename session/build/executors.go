package build

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor/external"
	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// ExecutorConfig has the inputs of executors.
type ExecutorConfig = standard.Config

// NewExecutors makes the executors that ship with Deft: an executor class of one's own
// replaces some of them.
func NewExecutors(c ExecutorConfig) (map[string]tool.Executor, error) { return standard.New(c) }

// localTools are the executors of tools that run beside the controller.
func localTools(tasks func() []event.TaskItem) map[string]tool.Executor {
	all := map[string]tool.Executor{}
	for _, t := range tool.Registered() {
		if t.Local != nil {
			all[t.Definition(tool.Model{}).ActionKind] = t.Local(tool.Beside{Tasks: tasks})
		}
	}
	return all
}

// ProgramExecutor begins the name of an executor class that is a program.
const ProgramExecutor = standard.ProgramClass

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
		return func(o ExecutorConfig) (map[string]tool.Executor, error) { return standard.WithProgram(file, o) }, nil
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
