// Package edit is the edit tool of Gemini's models: it replaces text in files.
//
// # Usage
//
//	def := edit.Definition()
//	exec := edit.New(all) // the files.Files of the place
//
// # Concurrency and failure
//
// The executor is safe for concurrent use. A text that is not in the file as often as expected is
// an observation with IsError set that names the lines.
package edit

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/files"
)

//go:embed edit.md
var description string

// Definition describes the tool (docs/openhands/tools.md section 3).
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "edit",
		Kind:        "EditTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "file_path", Type: "string", Required: true, Description: "Path of the file, absolute or relative to the working directory."},
			{Name: "old_string", Type: "string", Required: true, Description: "The text to replace, exactly as in the file; empty to make a new file."},
			{Name: "new_string", Type: "string", Required: true, Description: "The new text."},
			{Name: "expected_replacements", Type: "integer", Description: "How often old_string is in the file; 1 when absent."},
		}},
		Annotations:     event.Annotations{Title: "edit", Destructive: true},
		ActionKind:      "EditAction",
		ObservationKind: "EditObservation",
		Locks:           locks,
		Repair:          func(args *tool.Arguments) { args.Rename("path", "file_path") },
		Decode:          decode,
	}
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "edit", Description: "Replace text in files, as Gemini's models do.",
	Sets:       tool.Gemini,
	OfPreset:   true,
	Shown:      tool.Shown{Action: "EditAction", Deed: tool.Deed{Verb: "Edit", Class: "change"}, Subjects: []string{"file_path"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	New:        func(p tool.Place) (tool.Executor, error) { return New(p.Files), nil },
}

func locks(action event.Action) []string {
	if a, ok := action.(*event.EditAction); ok {
		return []string{files.LockKey(a.FilePath)}
	}
	return []string{"edit"}
}

func decode(args json.RawMessage) (event.Action, error) {
	action, err := tool.DecodeInto[event.EditAction](args)
	if a, ok := action.(*event.EditAction); ok && err == nil && a.ExpectedReplacements < 1 {
		err = files.Refuse("expected_replacements must be 1 or more")
	}
	return action, err
}

// New returns the tool's executor.
func New(f *files.Files) tool.Executor { return tool.NewExecutor("edit", (&editor{files: f}).answer) }

type editor struct{ files *files.Files }

func (x *editor) answer(ctx context.Context, a *event.EditAction) event.Observation {
	obs := &event.EditObservation{}
	err := files.Interrupted(ctx)
	if err == nil {
		err = x.run(a, obs)
	}
	if err != nil {
		obs.IsError, obs.Content = true, event.Texts(files.Message(err))
	}
	return obs
}

func (x *editor) run(a *event.EditAction, obs *event.EditObservation) error {
	path, err := x.files.Resolve(a.FilePath)
	if err != nil {
		return err
	}
	obs.FilePath = &path
	defer x.files.Lock()()
	if a.OldString == "" {
		return x.create(path, a.NewString, obs)
	}
	return x.replace(path, a, obs)
}

func (x *editor) create(path, text string, obs *event.EditObservation) error {
	_, err := x.files.Create(path, []byte(text))
	if errors.Is(err, fs.ErrExist) {
		return files.Refuse("%s exists already; give the text to replace as old_string, or write it anew with write_file", path)
	}
	if err != nil {
		return err
	}
	obs.IsNewFile, obs.ReplacementsMade = true, 1
	obs.OldContent, obs.NewContent = x.files.Contents(nil, &text)
	obs.Content = event.Texts(fmt.Sprintf("%s was created with %d lines.", path, len(files.Split(files.PlainNewlines(text)))))
	return nil
}

func (x *editor) replace(path string, a *event.EditAction, obs *event.EditObservation) error {
	f, d, err := x.files.ReadText(path)
	switch {
	case errors.Is(err, files.ErrBinary):
		return files.Refuse("%s is a binary file; this tool edits text", path)
	case err != nil:
		return x.files.Explain(path, err)
	}
	l := files.NewLines(d.Text)
	old, text := files.PlainNewlines(a.OldString), files.PlainNewlines(a.NewString)
	switch n := strings.Count(l.Text, old); {
	case old == text:
		return files.Refuse("old_string and new_string are the same, or differ only in line endings, which this tool keeps; nothing was changed")
	case n == 0:
		return files.NotFound("old_string", path, l.Text, old)
	case n != a.ExpectedReplacements:
		return files.Refuse("old_string is in %s %d times, not %d times, at lines %s; nothing was changed. Add lines around it until it is unique, or give that number as expected_replacements.",
			path, n, a.ExpectedReplacements, files.LineNumbers(l.Text, files.Matches(l.Text, old)))
	}
	if size := int64(len(l.Text)) + int64(a.ExpectedReplacements)*int64(len(text)-len(old)); size > x.files.MaxFileSize() {
		return files.TooLarge("the new content", size, x.files.MaxFileSize())
	}
	var edits []files.Edit
	for from := 0; len(edits) < a.ExpectedReplacements; from = edits[len(edits)-1].To {
		at := from + strings.Index(l.Text[from:], old)
		edits = append(edits, files.Edit{From: at, To: at + len(old), With: text})
	}
	after := l.Splice(edits...)
	changed, err := x.files.Save(f, d, after)
	if err != nil {
		return err
	}
	obs.ReplacementsMade = len(edits)
	obs.OldContent, obs.NewContent = x.files.Contents(&d.Text, &after)
	done := fmt.Sprintf("%s was edited: %d replacements.", path, len(edits))
	if len(edits) == 1 {
		done = fmt.Sprintf("%s was edited at line %d.", path, files.LineOf(l.Text, edits[0].From))
	}
	obs.Content = event.Texts(done + f.Remarks(changed))
	return nil
}
