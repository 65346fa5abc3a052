// Package conversationlock lets one process at a time work on a conversation.
//
// A lock is one of the operating system's. It has no clock: a process that is
// frozen keeps its locks, however long, and a process that has ended holds
// nothing, however it ended. All locks of a directory are bytes of one file, so
// that one more costs neither a descriptor nor a file.
//
//	locks, err := conversationlock.Open(dir)
//	release, err := locks.Acquire(ctx, id)
//	…
//	release()
//
// All methods are safe for concurrent use. A file system without such locks is
// an error of Acquire.
package conversationlock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// File is the name of the file in the directory.
const File = "locks"

// ErrLocked says that another process, or another caller of this one, works on
// the conversation. Its kind is fault.Conflict.
var ErrLocked = fault.New(fault.Conflict, "another process works on the conversation")

// inheritTime bounds how long Acquire waits for a lock that is taken. A process
// that is killed while it starts another leaves its locks with the child until
// that one's exec.
const inheritTime = 500 * time.Millisecond

// Locks are the locks that this process holds in one directory.
type Locks struct {
	file *os.File

	mu    sync.Mutex
	taken map[event.ConversationID]bool
}

// Open opens the locks of a directory, which is made if need be.
func Open(dir string) (*Locks, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "make the directory of locks")
	}
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "open the locks")
	}
	return &Locks{file: f, taken: map[event.ConversationID]bool{}}, nil
}

// Close releases everything.
func (l *Locks) Close() error { return l.file.Close() }

// Acquire locks a conversation until release is called or the process ends.
// [ErrLocked] if it is locked already.
func (l *Locks) Acquire(ctx context.Context, id event.ConversationID) (release func(), err error) {
	at, err := offset(id)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	held := l.taken[id]
	l.taken[id] = true
	l.mu.Unlock()
	if held {
		return nil, ErrLocked
	}
	if err := l.lock(ctx, at); err != nil {
		l.forget(id)
		return nil, err
	}
	return sync.OnceFunc(func() {
		// It fails if the file is closed, and then nothing is locked.
		_ = l.set(unix.F_UNLCK, at)
		l.forget(id)
	}), nil
}

// Held reports whether a conversation is locked, by another process or by a caller of
// this one.
func (l *Locks) Held(id event.ConversationID) (bool, error) {
	at, err := offset(id)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	held := l.taken[id]
	l.mu.Unlock()
	if held {
		return true, nil
	}
	k := &unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
	if err = unix.FcntlFlock(l.file.Fd(), unix.F_OFD_GETLK, k); errors.Is(err, unix.EINVAL) { // see set
		err = unix.FcntlFlock(l.file.Fd(), unix.F_GETLK, k)
	}
	if err != nil {
		return false, fault.Wrap(err, fault.Unavailable, "look at the locks in "+l.file.Name())
	}
	return k.Type != unix.F_UNLCK, nil
}

func (l *Locks) forget(id event.ConversationID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.taken, id)
}

func (l *Locks) lock(ctx context.Context, at int64) error {
	err := l.try(at)
	if !errors.Is(err, ErrLocked) {
		return err
	}
	w, werr := watchClosing(l.file.Name(), time.Now().Add(inheritTime))
	if werr != nil {
		return err // without a way to wait, locks stay locked
	}
	defer w.close()
	defer context.AfterFunc(ctx, w.stop)()
	for {
		if err = l.try(at); !errors.Is(err, ErrLocked) || !w.wait() {
			return err
		}
	}
}

func (l *Locks) try(at int64) error {
	err := l.set(unix.F_WRLCK, at)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return ErrLocked
	case err != nil:
		return fault.Wrap(err, fault.Unavailable, "lock a conversation in "+l.file.Name())
	}
	return nil
}

// set locks or unlocks a byte. The lock belongs to the open file, not to the
// process, as fcntl(2) says of open file description locks; where the system
// has only the other ones, they do as long as nobody else here opens the file.
func (l *Locks) set(kind int16, at int64) error {
	k := &unix.Flock_t{Type: kind, Start: at, Len: 1}
	err := unix.FcntlFlock(l.file.Fd(), unix.F_OFD_SETLK, k)
	if errors.Is(err, unix.EINVAL) {
		err = unix.FcntlFlock(l.file.Fd(), unix.F_SETLK, k)
	}
	return err
}

// offset is the byte that stands for a conversation: as many bits of its random
// id as an offset has. Should two ever meet, one of them counts as locked.
func offset(id event.ConversationID) (int64, error) {
	u, err := uuid.Parse(string(id))
	if err != nil {
		return 0, fmt.Errorf("lock the conversation %q: %w", id, err)
	}
	return int64(binary.BigEndian.Uint64(u[8:]) &^ (3 << 62)), nil
}
