package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	driverlib "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

const (
	salvageHint = "the intact events can be copied to a new store: `deft conversations salvage`"
	spaceHint   = "free some space on the disk and try again; stored events stay readable"
)

// storage gives an error of the database its kind. Errors that have a kind
// pass unchanged.
func storage(err error) error {
	var known *fault.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return canceled(err)
	}
	if errors.Is(err, errDamaged) {
		return fault.New(fault.Corrupt, "the event database is damaged").Hint(salvageHint).Because(err)
	}
	var e *driverlib.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() {
	case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_IOERR_TRUNCATE, lib.SQLITE_IOERR_DIR_FSYNC:
		return fault.New(fault.Full, "cannot write the event database").Hint(spaceHint).Because(err)
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL:
		return fault.New(fault.Full, "no space left for the event database").Hint(spaceHint).Because(err)
	case lib.SQLITE_NOTADB:
		return fault.New(fault.Corrupt, "the file is not an event database, or its first page is damaged").Hint(salvageHint).Because(err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_IOERR, lib.SQLITE_ERROR, lib.SQLITE_CONSTRAINT, lib.SQLITE_MISMATCH, lib.SQLITE_FORMAT:
		// Our statements are constant, so SQLITE_ERROR means that the file has another
		// schema than the one they were written for.
		return fault.New(fault.Corrupt, "the event database is damaged").Hint(salvageHint).Because(err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fault.New(fault.Unavailable, "another process keeps the event database locked").Hint("wait until it is done, or stop it").Because(err)
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH, lib.SQLITE_CANTOPEN:
		return fault.New(fault.Denied, "no permission to use the event database").Hint("check the owner and the mode of the data directory").Because(err)
	case lib.SQLITE_TOOBIG:
		return fault.New(fault.Invalid, "the event is too large to be stored").Because(err)
	}
	return err
}

// fsError gives an error of the file system its kind.
func fsError(err error, what string) error {
	switch {
	case errors.Is(err, os.ErrPermission):
		return fault.New(fault.Denied, what).Hint("check the owner and the mode of the data directory").Because(err)
	case errors.Is(err, syscall.ENOTDIR):
		return fault.New(fault.Invalid, what+": a part of its path is a file").Hint("name a directory with --data").Because(err)
	case isNoSpace(err):
		return fault.New(fault.Full, what).Hint(spaceHint).Because(err)
	}
	return fault.Wrap(err, fault.Unavailable, what)
}

func canceled(err error) error {
	return fault.Wrap(err, fault.Canceled, "the request was canceled")
}

func notFound(id event.ConversationID) error {
	return fault.New(fault.NotFound, fmt.Sprintf("no conversation %s", id)).Hint("`deft conversations list --all` shows the stored ones")
}

// The mistakes of an event.
const (
	missing  = "it is missing"
	mismatch = "its checksum does not match"
)

func damaged(id event.ConversationID, seq eventstream.Seq, why string) error {
	return fault.New(fault.Corrupt, fmt.Sprintf("event %d of conversation %s is damaged: %s", seq, id, why)).Hint(salvageHint)
}

// unreadable adds to an error of the database which event could not be read.
func unreadable(id event.ConversationID, seq eventstream.Seq, err error) error {
	if _, known := errors.AsType[*fault.Error](err); known {
		return err
	}
	return fault.New(fault.Corrupt, fmt.Sprintf("event %d of conversation %s cannot be read", seq, id)).Hint(salvageHint).Because(err)
}

var errClosed = fault.New(fault.Canceled, "the event store is closed")
