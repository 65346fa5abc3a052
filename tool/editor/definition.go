package editor

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/files"
)

//go:embed editor.md
var description string

var commands = []string{cmdView, cmdCreate, cmdReplace, cmdInsert, cmdUndo}

// Definition describes the tool (docs/openhands/tools.md section 2).
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "file_editor",
		Kind:        "FileEditorTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "command", Type: "string", Enum: commands, Required: true, Description: "What to do."},
			{Name: "path", Type: "string", Required: true, Description: "Absolute path of the file or directory."},
			{Name: "file_text", Type: "string", Description: "For create: the whole content."},
			{Name: "old_str", Type: "string", Description: "For str_replace: the text to replace, exactly as in the file."},
			{Name: "new_str", Type: "string", Description: "For str_replace: the new text (nothing when absent). For insert: the lines to insert."},
			{Name: "insert_line", Type: "integer", Description: "For insert: the line after which the text goes; 0 for the top."},
			{Name: "view_range", Type: "array", Items: &tool.Property{Type: "integer"},
				Description: "For view of a file: first and last line, counted from 1; -1 as the last means to the end."},
		}},
		Annotations:     event.Annotations{Title: "file_editor", Destructive: true},
		ActionKind:      "FileEditorAction",
		ObservationKind: "FileEditorObservation",
		Locks:           locks,
		Repair:          Repair,
		Decode:          decode,
	}
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "file_editor", Description: "View, create and edit files.",
	Sets: tool.Standard | tool.Terminal,
	Shown: tool.Shown{
		Action: "FileEditorAction", Deed: tool.Deed{Verb: "Edit", Class: "change"}, Subjects: []string{"path"},
		Commands: map[string]tool.Deed{
			"view": {Verb: "Read", Class: "read"}, "create": {Verb: "Create", Class: "change"}, "undo_edit": {Verb: "Undo the edit of", Class: "change"},
		},
	},
	Definition: func(m tool.Model) *tool.Definition {
		if m.Vision {
			return VisionDefinition()
		}
		return Definition()
	},
	New: func(p tool.Place) (tool.Executor, error) { return New(p.Files), nil },
}

// VisionDefinition is [Definition] for a model that takes images.
func VisionDefinition() *tool.Definition {
	d := Definition()
	d.Description += "\n\n`view` also shows images (png, jpg, gif, webp, bmp)."
	return d
}

func locks(action event.Action) []string {
	a, ok := action.(*event.FileEditorAction)
	switch {
	case !ok:
		return []string{"file_editor"}
	case a.Command == cmdView:
		return nil
	}
	return []string{files.LockKey(a.Path)}
}

// Repair infers a missing command from the other arguments, and drops
// a view_range that selects the whole file.
func Repair(args *tool.Arguments) {
	if v, ok := args.Get("view_range"); ok && (string(v) == "[]" || string(v) == `""` || string(v) == `"[]"`) {
		args.Delete("view_range")
	}
	if args.Has("command") {
		return
	}
	switch {
	case args.Has("file_text"):
		args.SetText("command", cmdCreate)
	case args.Has("old_str"):
		args.SetText("command", cmdReplace)
	case args.Has("insert_line"):
		args.SetText("command", cmdInsert)
	case args.Has("path") && !args.Has("new_str"):
		args.SetText("command", cmdView)
	}
}

func decode(args json.RawMessage) (event.Action, error) {
	action, err := tool.DecodeInto[event.FileEditorAction](args)
	if err != nil {
		return nil, err
	}
	if a, ok := action.(*event.FileEditorAction); ok {
		err = check(a)
	}
	return action, err
}

// check returns an error if an argument that the command needs is missing.
func check(a *event.FileEditorAction) error {
	switch {
	case strings.TrimSpace(a.Path) == "":
		return files.Refuse("path is empty; give the absolute path of a file or directory")
	case a.Command == cmdCreate && a.FileText == nil:
		return files.Refuse("create needs file_text")
	case a.Command == cmdReplace && (a.OldStr == nil || *a.OldStr == ""):
		return files.Refuse("str_replace needs old_str, the text to replace; to add lines use insert, to make a file use create")
	case a.Command == cmdInsert && a.InsertLine == nil:
		return files.Refuse("insert needs insert_line, the line after which the text goes (0 for the top)")
	case a.Command == cmdInsert && a.NewStr == nil:
		return files.Refuse("insert needs new_str, the lines to insert")
	case len(a.ViewRange) != 0 && len(a.ViewRange) != 2:
		return files.Refuse("view_range must be two integers, [first, last]")
	case len(a.ViewRange) != 0 && a.Command != cmdView:
		return fault.New(fault.Invalid, "view_range is for view only")
	}
	return nil
}
