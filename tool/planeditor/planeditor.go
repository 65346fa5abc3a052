// Package planeditor is the planning_file_editor tool: the editor of an agent that plans. It shows
// every file and changes only the plan.
//
// # Usage
//
//	def := planeditor.Definition()
//	exec := planeditor.New(all) // the files.Files of the place
//
// # Concurrency and failure
//
// As of package editor. A change of another file than the plan is an observation with IsError set,
// also where a link leads to it.
package planeditor

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/files"
)

//go:embed planeditor.md
var description string

// Definition describes the tool (docs/openhands/tools.md section 3).
func Definition() *tool.Definition {
	d := editor.Definition()
	d.Name, d.Kind = tool.PlanEditor, "PlanningFileEditorTool"
	d.Description = strings.TrimSpace(description)
	d.Annotations = event.Annotations{Title: d.Name}
	d.ActionKind, d.ObservationKind = "PlanningFileEditorAction", "PlanningFileEditorObservation"
	locks, decode := d.Locks, d.Decode
	d.Locks = func(action event.Action) []string {
		if a, ok := action.(*event.PlanningFileEditorAction); ok {
			edit := event.FileEditorAction(*a)
			return locks(&edit)
		}
		return []string{d.Name}
	}
	d.Decode = func(args json.RawMessage) (event.Action, error) {
		action, err := decode(args)
		a, ok := action.(*event.FileEditorAction)
		if err != nil || !ok {
			return nil, err
		}
		plan := event.PlanningFileEditorAction(*a)
		return &plan, nil
	}
	return d
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: tool.PlanEditor, Description: "View files, and write the plan only.",
	OfPreset: true, Sets: tool.Planning,
	Shown: tool.Shown{
		Action: "PlanningFileEditorAction", Deed: tool.Deed{Verb: "Edit", Class: "change"}, Subjects: []string{"path"},
		Commands: editor.Tool.Shown.Commands,
	},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	New:        func(p tool.Place) (tool.Executor, error) { return New(p.Files), nil },
}

// New returns the tool's executor.
func New(all *files.Files) tool.Executor {
	own := all.Guarded(func(real string) error { return onlyPlan(all.Workspace(), real) })
	return &planner{files: own, editor: editor.New(own)}
}

// onlyPlan refuses the change of a file that is not the plan. The plan is in the workspace itself: a link
// on the way to it, or another name of it elsewhere, would let other files be changed.
func onlyPlan(workspace, real string) error {
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return err
	}
	if real != filepath.Join(root, tool.PlanFile) {
		return files.Refuse("you plan, and change only %s; %s is not changed. Write into the plan what is to be done there.", filepath.Join(workspace, tool.PlanFile), real)
	}
	var st unix.Stat_t
	if unix.Lstat(real, &st) == nil && st.Nlink > 1 {
		return files.Refuse("%s is another file's name, too; it is not changed. Ask the user to remove it.", real)
	}
	return nil
}

type planner struct {
	files  *files.Files
	editor tool.Executor
}

// Close implements [tool.Executor].
func (x *planner) Close() error { return x.editor.Close() }

// Execute implements [tool.Executor].
func (x *planner) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.PlanningFileEditorAction)
	if !ok {
		return nil, fmt.Errorf("planning_file_editor cannot run a %T", c.Action)
	}
	edit := event.FileEditorAction(*a)
	if path, err := x.files.Resolve(edit.Path); err == nil {
		edit.Path = path // relative to the workspace
	}
	if edit.Command == event.EditCreate {
		if obs := x.rewrite(ctx, &edit); obs != nil {
			return obs, nil
		}
	}
	c.Action = &edit
	obs, err := x.editor.Execute(ctx, c)
	o, ok := obs.(*event.FileEditorObservation)
	if err != nil || !ok {
		return nil, err
	}
	plan := event.PlanningFileEditorObservation(*o)
	return &plan, nil
}

// rewrite puts another plan in the place of the one that is there; nil if there is none, which the
// editor creates.
func (x *planner) rewrite(ctx context.Context, a *event.FileEditorAction) event.Observation {
	if a.FileText == nil || files.Interrupted(ctx) != nil {
		return nil
	}
	if _, err := os.Lstat(a.Path); err != nil || a.Path != filepath.Join(x.files.Workspace(), tool.PlanFile) {
		return nil
	}
	defer x.files.Lock()()
	obs := &event.PlanningFileEditorObservation{Command: a.Command, Path: &a.Path, PrevExist: true}
	f, d, err := x.files.ReadText(a.Path)
	if err != nil {
		err = x.files.Explain(a.Path, err)
	} else {
		_, err = x.files.Save(f, d, *a.FileText)
	}
	if err != nil {
		obs.IsError, obs.Content = true, event.Texts(files.Message(err))
		return obs
	}
	obs.OldContent, obs.NewContent = x.files.Contents(&d.Text, a.FileText)
	obs.Content = event.Texts(a.Path + " was written anew; undo_edit brings the former plan back.")
	return obs
}
