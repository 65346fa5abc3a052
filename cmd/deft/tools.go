package main

import (
	"path/filepath"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/spawn"
	"github.com/deft-dev/deft/llm"
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

// definitions are the tools offered to the model, in the order it sees them
// (docs/openhands/tools.md section 1).
func definitions(m llm.Model) []*tool.Definition {
	edit := editor.Definition()
	if m != nil && m.Info().Vision {
		edit = editor.VisionDefinition()
	}
	return []*tool.Definition{
		terminal.Definition(), edit, tasktracker.Definition(), glob.Definition(), grep.Definition(),
		finish.Definition(), think.Definition(),
	}
}

// localTools run beside the controller.
func localTools(tasks func() []event.TaskItem) map[string]tool.Executor {
	return map[string]tool.Executor{
		tasktracker.Definition().ActionKind: tasktracker.New(tasks),
		finish.Definition().ActionKind:      finish.New(),
		think.Definition().ActionKind:       think.New(),
	}
}

// sandboxTools run inside the sandbox. scratch is a directory of the action
// server's own, for what does not fit into a result. shells may be nil.
func sandboxTools(workspace, scratch string, env []string, shells *spawn.Starter) (map[string]tool.Executor, error) {
	edit, err := editor.New(editor.Config{Workspace: workspace, UndoDir: filepath.Join(scratch, "undo")})
	if err != nil {
		return nil, err
	}
	return map[string]tool.Executor{
		terminal.Definition().ActionKind: terminal.New(terminal.Config{
			WorkingDir: workspace, Env: env, OutputDir: filepath.Join(scratch, "output"), Starter: shells,
		}),
		editor.Definition().ActionKind: edit,
		glob.Definition().ActionKind:   glob.New(glob.Config{Workspace: workspace}),
		grep.Definition().ActionKind:   grep.New(grep.Config{Workspace: workspace}),
		command.ActionKind:             command.New(env),
	}, nil
}
