package standard

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/executor/external"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// ClassName is the class of the executors that ship with Deft.
const ClassName = "standard"

// programClass begins the name of an executor class that is a program: the path of the
// program follows. See docs/executors.md.
const programClass = "exec:"

// Class makes the executors of the tools that have an effect on the sandbox, by kind of
// action.
type Class func(Config) (map[string]tool.Executor, error)

// Classes are executor classes by name: the registered ones, and each program.
type Classes struct {
	Executors map[string]Class
	// Tools are further tools, by the name by which agents ask for them. Those with an
	// effect on the sandbox need an executor class that runs them.
	Tools map[string]*tool.Definition
}

// OwnClasses are the classes that ship with Deft.
func OwnClasses() Classes {
	return Classes{Executors: map[string]Class{ClassName: New}, Tools: map[string]*tool.Definition{}}
}

// AbsoluteClass returns the name of an executor class with the path of a program made
// absolute.
func AbsoluteClass(name string) (string, error) {
	file, ok := strings.CutPrefix(name, programClass)
	if !ok || file == "" {
		return name, nil
	}
	file, err := filepath.Abs(file)
	return programClass + file, fault.Wrap(err, fault.Invalid, "find the executor program")
}

// Executor returns an executor class by its name. The error is of kind fault.Invalid.
func (c Classes) Executor(name string) (Class, error) {
	if file, ok := strings.CutPrefix(name, programClass); ok {
		return func(o Config) (map[string]tool.Executor, error) { return WithProgram(file, o) }, nil
	}
	if class := c.Executors[name]; class != nil {
		return class, nil
	}
	known := append(slices.Collect(maps.Keys(c.Executors)), programClass+"PATH")
	slices.Sort(known)
	return nil, fault.New(fault.Invalid, "there is no executor class "+name).Hint("registered are " + strings.Join(known, ", "))
}

// CheckExecutor returns why an executor class cannot be used on this machine: there is no
// such class, or no such program. It does not run the program.
func (c Classes) CheckExecutor(name string) error {
	if _, err := c.Executor(name); err != nil {
		return err
	}
	file, ok := strings.CutPrefix(name, programClass)
	switch {
	case !ok:
		return nil
	case file == "":
		return fault.New(fault.Invalid, "the executor class "+programClass+" names no program").Hint("write " + programClass + "PATH")
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
