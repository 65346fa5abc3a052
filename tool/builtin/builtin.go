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
	"github.com/deft-dev/deft/tool/applypatch"
	"github.com/deft-dev/deft/tool/askoracle"
	"github.com/deft-dev/deft/tool/browser"
	"github.com/deft-dev/deft/tool/edit"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/finish"
	"github.com/deft-dev/deft/tool/glob"
	"github.com/deft-dev/deft/tool/grep"
	"github.com/deft-dev/deft/tool/invokeskill"
	"github.com/deft-dev/deft/tool/ipython"
	"github.com/deft-dev/deft/tool/listdirectory"
	"github.com/deft-dev/deft/tool/planeditor"
	"github.com/deft-dev/deft/tool/readfile"
	"github.com/deft-dev/deft/tool/remember"
	"github.com/deft-dev/deft/tool/routetask"
	"github.com/deft-dev/deft/tool/startchild"
	"github.com/deft-dev/deft/tool/switchllm"
	"github.com/deft-dev/deft/tool/task"
	"github.com/deft-dev/deft/tool/tasktracker"
	"github.com/deft-dev/deft/tool/terminal"
	"github.com/deft-dev/deft/tool/think"
	"github.com/deft-dev/deft/tool/workflow"
	"github.com/deft-dev/deft/tool/writefile"
)

// In the order in which models see them.
func init() {
	tool.Register(
		terminal.Tool,
		editor.Tool,
		applypatch.Tool,
		readfile.Tool,
		writefile.Tool,
		edit.Tool,
		listdirectory.Tool,
		ipython.Tool,
		browser.Tools,
		remember.Tool,
		tasktracker.Tool,
		glob.Tool,
		grep.Tool,
		planeditor.Tool,
		task.Tool,
		workflow.Tool,
		finish.Tool,
		think.Tool,
		invokeskill.Tool,
		switchllm.Tool,
		routetask.Tool,
		askoracle.Tool,
		startchild.Tool,
	)
}
