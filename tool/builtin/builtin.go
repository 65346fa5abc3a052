// Package builtin registers the tools that ship with Deft, one a line.
//
// # Usage
//
//	import _ "github.com/deft-dev/deft/tool/builtin"
//
// # Concurrency and failure
//
// It does nothing after the start of the program.
package builtin

import (
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/glob"
	"github.com/deft-dev/deft/tool/grep"
	"github.com/deft-dev/deft/tool/invokeskill"
	"github.com/deft-dev/deft/tool/switchllm"
	"github.com/deft-dev/deft/tool/task"
	"github.com/deft-dev/deft/tool/tasktracker"
	"github.com/deft-dev/deft/tool/terminal"
	"github.com/deft-dev/deft/tool/think"
)

// In the order in which models see them.
func init() {
	tool.Register(
		terminal.Tool,
		editor.Tool,
		tasktracker.Tool,
		glob.Tool,
		grep.Tool,
		task.Tool,
		finish.Tool,
		think.Tool,
		invokeskill.Tool,
		switchllm.Tool,
	)
}
