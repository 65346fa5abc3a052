package tasktracker_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/tasktracker"
)

func parse(t *testing.T, args string) (*event.TaskTrackerAction, error) {
	t.Helper()
	set, err := tool.NewSet(tasktracker.Definition())
	must.Succeed(t, err)
	p, err := set.Parse("task_tracker", args)
	if err != nil {
		return nil, err
	}
	return p.Action.(*event.TaskTrackerAction), nil
}

func TestDecode(t *testing.T) {
	t.Parallel()
	item := func(title, status string) event.TaskItem { return event.TaskItem{Title: title, Status: status} }
	tests := map[string]struct {
		args    string
		command string
		want    event.List[event.TaskItem]
	}{
		"nothing is view":            {``, "view", nil},
		"a list alone is a plan":     {`{"task_list":[{"title":"a"}]}`, "plan", event.List[event.TaskItem]{item("a", "todo")}},
		"list in a string":           {`{"command":"plan","task_list":"[{\"title\":\"a\",\"status\":\"done\"}]"}`, "plan", event.List[event.TaskItem]{item("a", "done")}},
		"other words for statuses":   {`{"command":"plan","task_list":[{"title":"a","status":"pending"},{"title":"b","status":"completed"},{"title":"c","status":"IN_PROGRESS"},{"title":"d","status":"to_do"},{"title":"e","status":"complete"}]}`, "plan", event.List[event.TaskItem]{item("a", "todo"), item("b", "done"), item("c", "in_progress"), item("d", "todo"), item("e", "done")}},
		"empty status is todo":       {`{"command":"plan","task_list":[{"title":"a","status":""}]}`, "plan", event.List[event.TaskItem]{item("a", "todo")}},
		"null status is absent":      {`{"command":"plan","task_list":[{"title":"a","status":null}]}`, "plan", event.List[event.TaskItem]{item("a", "todo")}},
		"view with a list stays one": {`{"command":"view","task_list":[]}`, "view", event.List[event.TaskItem]{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := parse(t, tc.args)
			must.Succeed(t, err)
			if a.Command != tc.command {
				t.Errorf("command = %q, want %q", a.Command, tc.command)
			}
			if diff := cmp.Diff(tc.want, a.TaskList); diff != "" {
				t.Errorf("task list (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"command":"erase"}`: "must be one of view, plan",
		`{"command":"plan","task_list":[{"title":"a","status":"maybe"}]}`: "todo, in_progress or done",
		`{"command":"plan","task_list":[{"notes":"a"}]}`:                  `needs "title"`,
		`{"command":"plan","task_list":[{"title":"a","owner":"me"}]}`:     "no argument",
		`{"command":"plan","task_list":"soon"}`:                           "must be a list of objects",
	} {
		_, err := parse(t, args)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", args, err, want)
		}
	}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	stored := []event.TaskItem{{Title: "write", Status: "done"}, {Title: "test", Notes: "all of\nit", Status: "in_progress"}}
	x := tasktracker.New(func() []event.TaskItem { return stored })
	obs, err := x.Execute(t.Context(), tool.Call{Action: &event.TaskTrackerAction{Command: "view"}})
	must.Succeed(t, err)
	if got, want := event.JoinText(obs.Result().Content), "1. [x] write\n2. [>] test\n   all of\n   it"; got != want {
		t.Errorf("view = %q, want %q", got, want)
	}
	plan := event.List[event.TaskItem]{{Title: "new", Status: "todo"}}
	obs, err = x.Execute(t.Context(), tool.Call{Action: &event.TaskTrackerAction{Command: "plan", TaskList: plan}})
	must.Succeed(t, err)
	o := obs.(*event.TaskTrackerObservation)
	if diff := cmp.Diff(plan, o.TaskList); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if got := event.JoinText(o.Content); !strings.Contains(got, "1 item, 0 done") || !strings.Contains(got, "1. [ ] new") {
		t.Errorf("plan = %q", got)
	}
	obs, err = x.Execute(t.Context(), tool.Call{Action: &event.TaskTrackerAction{Command: "erase"}})
	if err != nil || !obs.Result().IsError {
		t.Errorf("unknown command: %v, %v", obs, err)
	}
}
