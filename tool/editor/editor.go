// Package editor is the file_editor tool: it shows files and directories, and
// edits text files. Package files says what an edit keeps.
//
// # Usage
//
//	def := editor.Definition()
//	exec := editor.New(all) // the files.Files of the place
//
// # Concurrency
//
// The executor is safe for concurrent use; edits are made one at a time.
//
// # Failure
//
// A mistake in the request or a problem with the file gives an observation with
// IsError set that says how to do it right. FIFOs, devices, sockets and the
// process files of /proc are refused without being opened; nothing blocks.
package editor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/files"
)

// The commands.
const (
	cmdView    = "view"
	cmdCreate  = "create"
	cmdReplace = "str_replace"
	cmdInsert  = "insert"
	cmdUndo    = "undo_edit"
)

// New returns the tool's executor.
func New(f *files.Files) tool.Executor { return &editor{files: f} }

type editor struct{ files *files.Files }

// Close implements [tool.Executor].
func (*editor) Close() error { return nil }

// Execute implements [tool.Executor].
func (e *editor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.FileEditorAction)
	if !ok {
		return nil, fmt.Errorf("file_editor cannot run a %T", c.Action)
	}
	obs := &event.FileEditorObservation{Command: a.Command, PrevExist: true}
	if a.Path != "" {
		path := a.Path
		obs.Path = &path
	}
	if err := files.Interrupted(ctx); err != nil {
		return failed(obs, err), nil
	}
	if err := e.run(ctx, a, obs); err != nil {
		return failed(obs, err), nil
	}
	return obs, nil
}

func (e *editor) run(ctx context.Context, a *event.FileEditorAction, obs *event.FileEditorObservation) error {
	path, note, err := e.resolve(a)
	if err != nil {
		return err
	}
	obs.Path = &path
	switch a.Command {
	case cmdView:
		err = e.view(ctx, path, a.ViewRange, obs)
	case cmdCreate, cmdReplace, cmdInsert, cmdUndo:
		defer e.files.Lock()()
		switch a.Command {
		case cmdCreate:
			err = e.create(path, a, obs)
		case cmdReplace:
			err = e.replace(path, a, obs)
		case cmdInsert:
			err = e.insert(path, a, obs)
		case cmdUndo:
			err = e.undo(path, obs)
		}
	default:
		return files.Refuse("there is no command %q; the commands are %s", a.Command, strings.Join(commands, ", "))
	}
	if err == nil && note != "" {
		obs.Content = append(event.Texts(note), obs.Content...)
	}
	return err
}

// resolve returns the clean absolute path that the action means, and a note
// for the model when it had to be guessed.
func (e *editor) resolve(a *event.FileEditorAction) (path, note string, err error) {
	if err := check(a); err != nil {
		return "", "", err
	}
	path, err = e.files.Resolve(a.Path)
	if err != nil || filepath.IsAbs(a.Path) {
		return path, "", err
	}
	if _, err := os.Lstat(path); err != nil || a.Command == cmdCreate {
		return "", "", files.Refuse("%q is not an absolute path; did you mean %s?", a.Path, path)
	}
	return path, fmt.Sprintf("(%s was taken as %s; please give absolute paths.)", a.Path, path), nil
}

// failed makes obs report err to the model.
func failed(obs *event.FileEditorObservation, err error) *event.FileEditorObservation {
	obs.IsError = true
	obs.OldContent, obs.NewContent = nil, nil
	obs.Content = event.Texts(files.Message(err))
	return obs
}
