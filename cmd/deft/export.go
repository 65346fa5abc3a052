package main

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
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
)

// exportTrajectory writes a file, whole or not at all.
func exportTrajectory(ctx context.Context, s eventstream.Stream, id event.ConversationID, path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".deft-export-*")
	if err != nil {
		return badTarget(err)
	}
	defer os.Remove(f.Name()) // gone already after the rename
	err = openhands.ExportTrajectory(ctx, s, id, f)
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

// checkTarget finds out before any work is done whether the export can be
// written after it.
func checkTarget(path string) error {
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
