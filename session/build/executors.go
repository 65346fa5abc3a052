package build

import (
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/tool"
)

// ExecutorConfig has the inputs of executors.
type ExecutorConfig = standard.Config

// ExecutorClass makes the executors of the tools that have an effect on the sandbox, by
// kind of action.
type ExecutorClass = standard.Class

// NewExecutors makes the executors that ship with Deft: an executor class of one's own
// replaces some of them.
func NewExecutors(c ExecutorConfig) (map[string]tool.Executor, error) { return standard.New(c) }

// localTools are the executors of tools that run beside the controller.
func localTools(tasks func() []event.TaskItem) map[string]tool.Executor {
	all := map[string]tool.Executor{}
	for _, t := range tool.Registered() {
		if t.Local == nil {
			continue
		}
		for _, d := range t.Definitions(tool.Model{}) {
			all[d.ActionKind] = t.Local(tool.Beside{Tasks: tasks})
		}
	}
	return all
}
