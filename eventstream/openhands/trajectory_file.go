package openhands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// WriteTrajectory is [ExportTrajectory] to a file, which only the user can read. It is
// written whole or not at all, in the place of an older one. Where it cannot be, the
// error is of kind Invalid, Denied or Full.
func WriteTrajectory(ctx context.Context, s eventstream.Stream, id event.ConversationID, path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".deft-export-*")
	if err != nil {
		return badTarget(err)
	}
	defer os.Remove(f.Name()) // gone already after the rename
	err = ExportTrajectory(ctx, s, id, f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		return nil
	}
	if fault.KindOf(err) == fault.Internal {
		return badTarget(err)
	}
	return fmt.Errorf("write the export: %w", err)
}

// CheckTarget finds out, before any work is done, whether WriteTrajectory can write a
// file. The errors are the same.
func CheckTarget(path string) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return badTarget(&fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR})
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".deft-export-*")
	if err != nil {
		return badTarget(err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func badTarget(err error) error {
	kind := fault.Invalid
	switch {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		kind = fault.Denied
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		kind = fault.Full
	}
	return fault.New(kind, "the export cannot be written").Because(err).Hint("name a file in a directory that you may write to")
}
