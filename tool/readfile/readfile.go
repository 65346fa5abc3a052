// Package readfile is the read_file tool of Gemini's models: it shows a text file, page by page.
//
// # Usage
//
//	def := readfile.Definition()
//	exec := readfile.New(all) // the files.Files of the place
//
// # Concurrency and failure
//
// The executor is safe for concurrent use. A file that cannot be shown is an observation with
// IsError set.
package readfile

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/files"
)

//go:embed readfile.md
var description string

// DefaultLimit is the number of lines of a page that asks for none.
const DefaultLimit = 1000

// Definition describes the tool (docs/openhands/tools.md section 3).
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "read_file",
		Kind:        "ReadFileTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "file_path", Type: "string", Required: true, Description: "Path of the file, absolute or relative to the working directory."},
			{Name: "offset", Type: "integer", Description: "The number of lines to leave out at the start; 0 when absent."},
			{Name: "limit", Type: "integer", Description: "The number of lines to show; 1000 when absent."},
		}},
		Annotations:     event.Annotations{Title: "read_file", ReadOnly: true, Idempotent: true},
		ActionKind:      "ReadFileAction",
		ObservationKind: "ReadFileObservation",
		Locks:           func(event.Action) []string { return nil },
		Repair: func(args *tool.Arguments) {
			args.Rename("path", "file_path")
			args.Rename("absolute_path", "file_path")
		},
		Decode: decode,
	}
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "read_file", Description: "Show a text file, as Gemini's models ask for it.",
	Sets:       tool.Gemini,
	OfPreset:   true,
	Shown:      tool.Shown{Action: "ReadFileAction", Deed: tool.Deed{Verb: "Read", Class: "read"}, Subjects: []string{"file_path"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	New:        func(p tool.Place) (tool.Executor, error) { return New(p.Files), nil },
}

func decode(args json.RawMessage) (event.Action, error) {
	action, err := tool.DecodeInto[event.ReadFileAction](args)
	if a, ok := action.(*event.ReadFileAction); ok && err == nil {
		switch {
		case a.Offset != nil && *a.Offset < 0:
			err = files.Refuse("offset must be 0 or more")
		case a.Limit != nil && *a.Limit < 1:
			err = files.Refuse("limit must be 1 or more")
		}
	}
	return action, err
}

// New returns the tool's executor.
func New(f *files.Files) tool.Executor {
	return tool.NewExecutor("read_file", (&reader{files: f}).answer)
}

type reader struct{ files *files.Files }

func (x *reader) answer(_ context.Context, a *event.ReadFileAction) event.Observation {
	obs := &event.ReadFileObservation{FilePath: a.FilePath}
	if err := x.read(a, obs); err != nil {
		obs.IsError, obs.Content = true, event.Texts(files.Message(err))
	}
	return obs
}

func (x *reader) read(a *event.ReadFileAction, obs *event.ReadFileObservation) error {
	path, err := x.files.Resolve(a.FilePath)
	if err != nil {
		return err
	}
	obs.FilePath = path
	f, d, err := x.files.ReadText(path)
	switch {
	case errors.Is(err, files.ErrBinary):
		return files.Refuse("%s is a binary file (%d bytes); this tool shows text", path, len(f.Raw))
	case err != nil:
		return x.files.Explain(path, err)
	}
	all := files.Split(files.NewLines(d.Text).Text)
	first, limit, total := 1, DefaultLimit, len(all)
	if a.Offset != nil {
		first += *a.Offset
	}
	if a.Limit != nil {
		limit = *a.Limit
	}
	obs.TotalLines = &total
	if first > max(total, 1) {
		return files.Refuse("%s has %d lines, so there is none from offset %d on", path, total, first-1)
	}
	x.files.Seen(f)
	if total == 0 {
		obs.Content = event.Texts(path + " is empty.")
		return nil
	}
	text, last := x.files.Number(all, first, min(total, first-1+min(limit, total)))
	head := fmt.Sprintf("%s, lines %d to %d of %d", path, first, last, total)
	if d.Name != "UTF-8" {
		head += " (" + d.Name + ")"
	}
	if obs.IsTruncated = last < total; obs.IsTruncated {
		obs.LinesShown = []int{first, last}
		head += fmt.Sprintf("; the rest is there with offset %d", last)
	}
	obs.FileContent = text
	obs.Content = event.Texts(head + ":\n" + text)
	return nil
}
