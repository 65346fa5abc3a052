// Package editor is the file_editor tool: it shows files and directories, and
// edits text files without touching a byte outside the edit.
//
// # Usage
//
//	def := editor.Definition()
//	exec, err := editor.New(editor.Config{Workspace: "/workspace", UndoDir: dir})
//
// # What an edit keeps
//
// An edit is made on the file's own bytes: encoding, byte order mark, line
// endings (also mixed ones), mode, owner and extended attributes stay. A file
// is replaced atomically (written beside it, synced, renamed). If that would
// change its owner or is impossible (a bind mount, a directory that cannot be
// written), it is rewritten in place. Symbolic links are followed
// and stay links. Other hard links of an edited file keep the old content,
// and the observation says so.
//
// # Concurrency
//
// The executor is safe for concurrent use; edits are made one at a time. Before a
// file is replaced it is compared with the content that was read, so that a change
// made in between by another program is not lost.
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
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// The defaults of [Config].
const (
	DefaultMaxFileSize = 10 << 20
	DefaultMaxResponse = 16_000
	DefaultMaxContent  = 256 << 10
)

// Config configures the executor.
type Config struct {
	// Workspace is the absolute directory that relative paths are tried in.
	Workspace string
	// MaxFileSize is the size in bytes up to which files are read and
	// written. Defaults to DefaultMaxFileSize.
	MaxFileSize int64
	// MaxResponse is the number of characters the model is shown at most.
	// Defaults to DefaultMaxResponse.
	MaxResponse int
	// MaxContent is the size in bytes up to which old_content and new_content
	// are put into the observation. Defaults to DefaultMaxContent.
	MaxContent int
	// UndoDir holds earlier versions for undo_edit, so that they survive a
	// restart. It is created if needed. Empty means a temporary directory
	// that Close removes.
	UndoDir string
}

// The commands.
const (
	cmdView    = "view"
	cmdCreate  = "create"
	cmdReplace = "str_replace"
	cmdInsert  = "insert"
	cmdUndo    = "undo_edit"
)

// New returns the tool's executor. It fails if the undo directory cannot be
// created.
func New(cfg Config) (tool.Executor, error) {
	if cfg.MaxFileSize <= 0 {
		cfg.MaxFileSize = DefaultMaxFileSize
	}
	if cfg.MaxResponse <= 0 {
		cfg.MaxResponse = DefaultMaxResponse
	}
	if cfg.MaxContent <= 0 {
		cfg.MaxContent = DefaultMaxContent
	}
	e := &Editor{cfg: cfg, seen: newSeen()}
	dir := cfg.UndoDir
	if dir == "" {
		tmp, err := os.MkdirTemp("", "deft-undo-")
		if err != nil {
			return nil, fmt.Errorf("make undo directory: %w", err)
		}
		dir, e.tempDir = tmp, tmp
	}
	var err error
	if e.undo, err = openUndo(dir); err != nil {
		return nil, err
	}
	return e, nil
}

// Editor is the executor that [New] returns.
type Editor struct {
	cfg     Config
	undo    *undoLog
	seen    *seen
	tempDir string // removed by Close; empty for none

	edits sync.Mutex // held while a file is changed
}

// Close implements [tool.Executor].
func (e *Editor) Close() error {
	if e.tempDir == "" {
		return nil
	}
	return os.RemoveAll(e.tempDir)
}

// Execute implements [tool.Executor].
func (e *Editor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*event.FileEditorAction)
	if !ok {
		return nil, fmt.Errorf("file_editor cannot run a %T", c.Action)
	}
	obs := &event.FileEditorObservation{Command: a.Command, PrevExist: true}
	if a.Path != "" {
		path := a.Path
		obs.Path = &path
	}
	if err := ctx.Err(); err != nil {
		return failed(obs, fault.New(fault.Canceled, "interrupted before anything was done")), nil
	}
	if err := e.run(ctx, a, obs); err != nil {
		return failed(obs, err), nil
	}
	return obs, nil
}

func (e *Editor) run(ctx context.Context, a *event.FileEditorAction, obs *event.FileEditorObservation) error {
	path, note, err := e.resolve(a)
	if err != nil {
		return err
	}
	obs.Path = &path
	switch a.Command {
	case cmdView:
		err = e.view(ctx, path, a.ViewRange, obs)
	case cmdCreate, cmdReplace, cmdInsert, cmdUndo:
		e.edits.Lock()
		defer e.edits.Unlock()
		switch a.Command {
		case cmdCreate:
			err = e.create(path, a, obs)
		case cmdReplace:
			err = e.replace(path, a, obs)
		case cmdInsert:
			err = e.insert(path, a, obs)
		case cmdUndo:
			err = e.undoEdit(path, obs)
		}
	default:
		return refuse("there is no command %q; the commands are %s", a.Command, strings.Join(commands, ", "))
	}
	if err == nil && note != "" {
		obs.Content = append(event.Texts(note), obs.Content...)
	}
	return err
}

// failed makes obs report err to the model.
func failed(obs *event.FileEditorObservation, err error) *event.FileEditorObservation {
	obs.IsError = true
	obs.OldContent, obs.NewContent = nil, nil
	msg := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		msg += "\n" + hint
	}
	obs.Content = event.Texts(strings.ToValidUTF8(msg, "\uFFFD"))
	return obs
}

// refuse returns an error that is meant for the model.
func refuse(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, fmt.Sprintf(format, args...))
}

// contents puts the texts before and after into the observation, unless one
// of them is too large to be stored in an event.
func (e *Editor) contents(obs *event.FileEditorObservation, before, after *string) {
	if before != nil && len(*before) > e.cfg.MaxContent || after != nil && len(*after) > e.cfg.MaxContent {
		return
	}
	obs.OldContent, obs.NewContent = printable(before), printable(after)
}

func printable(s *string) *string {
	if s == nil {
		return nil
	}
	valid := strings.ToValidUTF8(*s, "\uFFFD")
	return &valid
}

// lockPath is the key that edits of a path share.
func lockPath(path string) string { return "file:" + filepath.Clean(path) }
