// Package writefile is the write_file tool of Gemini's models: it writes whole files.
//
// # Usage
//
//	def := writefile.Definition()
//	exec := writefile.New(all) // the files.Files of the place
//
// # Concurrency and failure
//
// The executor is safe for concurrent use. A file that cannot be written is an observation with
// IsError set.
package writefile

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

//go:embed writefile.md
var description string

// Definition describes the tool (docs/openhands/tools.md section 3).
func Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "write_file",
		Kind:        "WriteFileTool",
		Description: strings.TrimSpace(description),
		Parameters: tool.Schema{Properties: []tool.Property{
			{Name: "file_path", Type: "string", Required: true, Description: "Path of the file, absolute or relative to the working directory."},
			{Name: "content", Type: "string", Required: true, Description: "The whole content."},
		}},
		Annotations:     event.Annotations{Title: "write_file", Destructive: true},
		ActionKind:      "WriteFileAction",
		ObservationKind: "WriteFileObservation",
		Locks:           locks,
		Repair:          func(args *tool.Arguments) { args.Rename("path", "file_path") },
		Decode:          func(args json.RawMessage) (event.Action, error) { return tool.DecodeInto[event.WriteFileAction](args) },
	}
}

// Tool registers the tool.
var Tool = tool.Registration{
	Name: "write_file", Description: "Write whole files, as Gemini's models do.",
	Sets:       tool.Gemini,
	OfPreset:   true,
	Shown:      tool.Shown{Action: "WriteFileAction", Deed: tool.Deed{Verb: "Write", Class: "change"}, Subjects: []string{"file_path"}},
	Definition: func(tool.Model) *tool.Definition { return Definition() },
	New:        func(p tool.Place) (tool.Executor, error) { return New(p.Files), nil },
}

func locks(action event.Action) []string {
	if a, ok := action.(*event.WriteFileAction); ok {
		return []string{files.LockKey(a.FilePath)}
	}
	return []string{"write_file"}
}

// New returns the tool's executor.
func New(f *files.Files) tool.Executor {
	return tool.NewExecutor("write_file", (&writer{files: f}).answer)
}

type writer struct{ files *files.Files }

func (x *writer) answer(ctx context.Context, a *event.WriteFileAction) event.Observation {
	obs := &event.WriteFileObservation{}
	err := files.Interrupted(ctx)
	if err == nil {
		err = x.write(a, obs)
	}
	if err != nil {
		obs.IsError, obs.Content = true, event.Texts(files.Message(err))
		obs.OldContent, obs.NewContent = nil, nil
	}
	return obs
}

func (x *writer) write(a *event.WriteFileAction, obs *event.WriteFileObservation) error {
	path, err := x.files.Resolve(a.FilePath)
	if err != nil {
		return err
	}
	obs.FilePath = &path
	defer x.files.Lock()()
	_, err = x.files.Create(path, []byte(a.Content))
	if errors.Is(err, fs.ErrExist) {
		return x.replace(path, a.Content, obs)
	}
	if err != nil {
		return err
	}
	obs.IsNewFile = true
	obs.OldContent, obs.NewContent = x.files.Contents(nil, &a.Content)
	obs.Content = event.Texts(fmt.Sprintf("%s was created with %d lines.", path, lines(a.Content)))
	return nil
}

// replace writes the content of a file that exists. Text keeps the encoding and the line
// endings of the file.
func (x *writer) replace(path, content string, obs *event.WriteFileObservation) error {
	f, d, err := x.files.ReadText(path)
	binary := errors.Is(err, files.ErrBinary)
	if err != nil && !binary {
		return x.files.Explain(path, err)
	}
	after, changed := content, false
	if binary {
		changed, err = x.files.Replace(f, []byte(content))
	} else {
		l := files.NewLines(d.Text)
		after = l.Splice(files.Edit{To: len(l.Text), With: content})
		if after == d.Text {
			obs.OldContent, obs.NewContent = x.files.Contents(&after, &after)
			obs.Content = event.Texts(path + " has this content already.")
			return nil
		}
		changed, err = x.files.Save(f, d, after)
	}
	if err != nil {
		return err
	}
	if !binary {
		obs.OldContent, obs.NewContent = x.files.Contents(&d.Text, &after)
	}
	obs.Content = event.Texts(fmt.Sprintf("%s was written with %d lines.", path, lines(content)) + f.Remarks(changed))
	return nil
}

func lines(content string) int { return len(files.Split(files.PlainNewlines(content))) }
