package main

import (
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/tool"
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
