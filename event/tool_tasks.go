package event

import (
	"strings"

	"github.com/deft-dev/deft/event/internal/wire"
)

// TaskTrackerAction is the input of the task_tracker tool. Command is "view"
// (also when absent) or "plan", which replaces the list by TaskList.
type TaskTrackerAction struct {
	ActionBase
	Command  string         `json:"command"`
	TaskList List[TaskItem] `json:"task_list"`
}

// Kind implements [Action].
func (*TaskTrackerAction) Kind() string { return "TaskTrackerAction" }

// TaskTrackerObservation is the result of the task_tracker tool.
type TaskTrackerObservation struct {
	ObservationBase
	Command  string         `json:"command"`
	TaskList List[TaskItem] `json:"task_list"`
}

// Kind implements [Observation].
func (*TaskTrackerObservation) Kind() string { return "TaskTrackerObservation" }

// SetDefaults implements [Defaulter].
func (a *TaskTrackerAction) SetDefaults() { a.Command = "view" }

// The states of a task.
const (
	TaskTodo       = "todo"
	TaskInProgress = "in_progress"
	TaskDone       = "done"
)

// TaskItem is one line of the task tracker's list.
type TaskItem struct {
	Title  string `json:"title"`
	Notes  string `json:"notes"`
	Status string `json:"status"` // TaskTodo (also when absent), TaskInProgress or TaskDone
}

// ParseJSON reads an item from JSON that is known to be valid. Statuses go
// through [TaskStatus], because models use other names for them.
func (t *TaskItem) ParseJSON(b []byte) error {
	type plain TaskItem
	v := plain{Status: TaskTodo}
	err := wire.Decode(b, &v)
	v.Status = TaskStatus(v.Status)
	*t = TaskItem(v)
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *TaskItem) UnmarshalJSON(b []byte) error {
	if err := wire.Check(b); err != nil {
		return err
	}
	return t.ParseJSON(b)
}

// TaskStatus returns the contract's name for a task status: pending and to_do
// mean todo, completed and complete mean done, and case, spaces and dashes do
// not matter (docs/openhands/sdk-wire-1.58.md section B.6). An unknown status is
// returned as it is.
func TaskStatus(s string) string {
	switch strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(s))) {
	case TaskTodo, "to_do", "pending":
		return TaskTodo
	case TaskInProgress:
		return TaskInProgress
	case TaskDone, "completed", "complete":
		return TaskDone
	}
	return s
}

func init() {
	registerAction[TaskTrackerAction]()
	registerObservation[TaskTrackerObservation]()
}
