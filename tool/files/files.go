// Package files reads and changes text files for tools, without touching a byte outside
// of an edit.
//
// # Usage
//
//	all, err := files.New(files.Config{Workspace: "/workspace", UndoDir: dir})
//	f, doc, err := all.ReadText(path)
//	…
//	after := files.NewLines(doc.Text).Splice(files.Edit{From: 3, To: 5, With: "new"})
//	defer all.Lock()()
//	changed, err := all.Save(f, doc, after)
//
// # What an edit keeps
//
// An edit is made on the file's own bytes: encoding, byte order mark, line
// endings (also mixed ones), mode, owner and extended attributes stay. A file
// is replaced atomically (written beside it, synced, renamed). If that would
// change its owner or is impossible (a bind mount, a directory that cannot be
// written), it is rewritten in place. Symbolic links are followed
// and stay links. Other hard links of an edited file keep the old content.
//
// # Concurrency
//
// Files is safe for concurrent use; who changes files holds [Files.Lock]. Before a
// file is replaced it is compared with the content that was read, so that a change
// made in between by another program is not lost.
//
// # Failure
//
// Errors of kind Invalid are for the model: they say how to do it right ([Message]).
// FIFOs, devices, sockets and the process files of /proc are refused without being
// opened; nothing blocks.
package files

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deft-dev/deft/fault"

	"golang.org/x/sys/unix"
)

// The defaults of [Config].
const (
	DefaultMaxFileSize = 10 << 20
	DefaultMaxResponse = 16_000
	DefaultMaxContent  = 256 << 10
)

// Config configures [Files].
type Config struct {
	// Workspace is the absolute directory of relative paths.
	Workspace string
	// MaxFileSize is the size in bytes up to which files are read and
	// written. Defaults to DefaultMaxFileSize.
	MaxFileSize int64
	// MaxResponse is the number of characters the model is shown at most.
	// Defaults to DefaultMaxResponse.
	MaxResponse int
	// MaxContent is the size in bytes up to which old and new contents
	// are put into an observation. Defaults to DefaultMaxContent.
	MaxContent int
	// UndoDir holds earlier versions of files, so that they survive a
	// restart. It is created if needed.
	UndoDir string
	// Guard refuses changes of files by their paths without links; nil for none.
	Guard Guard
}

// Guard refuses changes of a file with an error for the model.
type Guard func(real string) error

// Files are the files of a place. Make it with [New].
type Files struct {
	cfg   Config
	undo  *undoLog
	seen  *seen
	edits *sync.Mutex // held while files are changed
	guard []Guard
}

// New returns the files of a place. It fails if the directory of earlier versions is
// missing in cfg or cannot be read.
func New(cfg Config) (*Files, error) {
	if cfg.UndoDir == "" {
		return nil, fault.New(fault.Invalid, "there is no directory for earlier versions of files")
	}
	if cfg.MaxFileSize <= 0 {
		cfg.MaxFileSize = DefaultMaxFileSize
	}
	if cfg.MaxResponse <= 0 {
		cfg.MaxResponse = DefaultMaxResponse
	}
	if cfg.MaxContent <= 0 {
		cfg.MaxContent = DefaultMaxContent
	}
	x := &Files{cfg: cfg, seen: newSeen(), edits: new(sync.Mutex)}
	if cfg.Guard != nil {
		x.guard = []Guard{cfg.Guard}
	}
	var err error
	x.undo, err = openUndo(cfg.UndoDir)
	return x, err
}

// Guarded returns the same files with one more guard.
func (x *Files) Guarded(g Guard) *Files {
	out := *x
	out.guard = append(out.guard[:len(out.guard):len(out.guard)], g)
	return &out
}

// Workspace is the absolute directory of relative paths.
func (x *Files) Workspace() string { return x.cfg.Workspace }

// MaxResponse is the number of characters that a model is shown at most.
func (x *Files) MaxResponse() int { return x.cfg.MaxResponse }

// MaxFileSize is the size in bytes up to which files are written.
func (x *Files) MaxFileSize() int64 { return x.cfg.MaxFileSize }

// MaxContent is the size in bytes up to which contents are put into an observation.
func (x *Files) MaxContent() int { return x.cfg.MaxContent }

// Lock lets nobody else change files until unlock is called.
func (x *Files) Lock() (unlock func()) {
	x.edits.Lock()
	return x.edits.Unlock
}

// allowed refuses the change of a file.
func (x *Files) allowed(real string) error {
	for _, g := range x.guard {
		if err := g(real); err != nil {
			return err
		}
	}
	return nil
}

// Save writes the new text of a file that was read, and keeps the old one for [Files.Undo].
// changed reports that another program had changed the file since the model saw it.
func (x *Files) Save(f *File, d Document, after string) (changed bool, err error) {
	data, err := d.Encode(after)
	if err != nil {
		return false, err
	}
	return x.Replace(f, data)
}

// Replace is [Files.Save] for a file's bytes.
func (x *Files) Replace(f *File, data []byte) (changed bool, err error) {
	if int64(len(data)) > x.cfg.MaxFileSize {
		return false, TooLarge("the new content", int64(len(data)), x.cfg.MaxFileSize)
	}
	if err := x.allowed(f.Real); err != nil {
		return false, err
	}
	drop, err := x.undo.push(f.Real, f.Raw, true, data)
	if err != nil {
		return false, err
	}
	if err := replaceFile(f, data); err != nil {
		drop()
		return false, x.Explain(f.Real, err)
	}
	changed = x.seen.changed(f.Real, f.Raw)
	x.seen.note(f.Real, data)
	return changed, nil
}

// Create makes a file that does not exist, and the directories on the way, and returns its
// path without links. The error is fs.ErrExist if something is there.
func (x *Files) Create(path string, data []byte) (real string, err error) {
	if int64(len(data)) > x.cfg.MaxFileSize {
		return "", TooLarge("the new content", int64(len(data)), x.cfg.MaxFileSize)
	}
	if err := x.Creatable(path); err != nil {
		return "", err
	}
	empty, err := x.Parents(path)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			empty()
		}
	}()
	if real, err = realTarget(path); err != nil { // nothing is missing now
		return "", x.Explain(path, err)
	}
	if err := x.allowed(real); err != nil {
		return "", err
	}
	drop, err := x.undo.push(real, nil, false, data)
	if err != nil {
		return "", err
	}
	if err := createFile(real, data); err != nil {
		drop()
		return "", x.Explain(path, err)
	}
	x.seen.note(real, data)
	return real, nil
}

// Parents makes the missing directories on the way to a path. drop removes the ones among them that are still empty; they
// do not stay when it fails.
func (x *Files) Parents(path string) (drop func(), err error) {
	var missing []string // from the path upwards
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	drop = func() {
		for _, dir := range missing {
			_ = unix.Rmdir(dir) // it was not made, or somebody uses it
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		drop()
		return nil, x.Explain(path, err)
	}
	return drop, nil
}

// Creatable refuses a path at which no file can be made: something is there, or nothing may be.
func (x *Files) Creatable(path string) error {
	if why := Forbidden(path); why != "" {
		return Refuse("%s: %s", path, why)
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return Refuse("%s is a directory", path)
	case err == nil && info.Mode()&os.ModeSymlink != 0:
		if _, err := os.Stat(path); os.IsNotExist(err) {
			to, _ := os.Readlink(path) // only for the message
			return Refuse("%s is a symbolic link to %s, which does not exist; create that instead", path, to)
		}
		return &os.PathError{Op: "create", Path: path, Err: os.ErrExist}
	case err == nil:
		return &os.PathError{Op: "create", Path: path, Err: os.ErrExist}
	}
	real, err := realTarget(path)
	if err != nil {
		return x.Explain(path, err)
	}
	return x.allowed(real)
}

// Remove deletes a file that was read.
func (x *Files) Remove(f *File) error {
	if err := x.Changeable(f); err != nil {
		return err
	}
	if err := unchanged(f); err != nil {
		return err
	}
	if err := os.Remove(f.Real); err != nil {
		return x.Explain(f.Real, err)
	}
	return syncDir(filepath.Dir(f.Real))
}

// Changeable refuses to change or delete a file.
func (x *Files) Changeable(f *File) error { return x.allowed(f.Real) }

// Reread reads a file again that was just written, of any size.
func (x *Files) Reread(real string) (*File, error) { return x.Read(real, math.MaxInt64) }

// Rename gives a file that was read another name, at which nothing is, and returns that
// path without links. Directories on the way are made.
func (x *Files) Rename(f *File, to string) (real string, err error) {
	if err := x.Changeable(f); err != nil {
		return "", err
	}
	if err := x.Creatable(to); err != nil {
		return "", err
	}
	empty, err := x.Parents(to)
	if err != nil {
		return "", err
	}
	if real, err = realTarget(to); err == nil {
		err = x.allowed(real)
	}
	if err == nil {
		err = unchanged(f)
	}
	if err == nil {
		err = moveFile(f.Real, real)
	}
	if err != nil {
		empty()
		return "", x.Explain(to, err)
	}
	return real, nil
}

// Restore makes a file again that was removed.
func (x *Files) Restore(f *File) error {
	if err := createFile(f.Real, f.Raw); err != nil {
		return err
	}
	return os.Chmod(f.Real, fs.FileMode(f.stat.Mode&0o777))
}

// Seen records that the model has seen the content of a file.
func (x *Files) Seen(f *File) { x.seen.note(f.Real, f.Raw) }

// Contents returns the texts before and after as an observation has them: nil
// if one of them is too large to be stored in an event.
func (x *Files) Contents(before, after *string) (*string, *string) {
	if before != nil && len(*before) > x.cfg.MaxContent || after != nil && len(*after) > x.cfg.MaxContent {
		return nil, nil
	}
	return printable(before), printable(after)
}

func printable(s *string) *string {
	if s == nil {
		return nil
	}
	valid := strings.ToValidUTF8(*s, "\uFFFD")
	return &valid
}

// Refuse returns an error that is meant for the model.
func Refuse(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, fmt.Sprintf(format, args...))
}

// Interrupted refuses a change whose context has ended; nil before.
func Interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fault.New(fault.Canceled, "interrupted before anything was done")
}

// Message is the text of an error for the model.
func Message(err error) string {
	msg := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		msg += "\n" + hint
	}
	return strings.ToValidUTF8(msg, "\uFFFD")
}

// LockKey is the key that actions on a path share, for the Locks of their tools.
func LockKey(path string) string { return "file:" + filepath.Clean(path) }
