// Package lease lets one process at a time work on a conversation.
//
// A lease is a lock of the operating system. It has no clock: a process that
// is frozen keeps what it holds, however long, and one that is gone holds
// nothing, however it went. All leases of a directory are bytes of one file,
// so one more of them costs no descriptor and no file.
//
//	book, err := lease.Open(dir)
//	release, err := book.Take(id)
//	…
//	release()
//
// All methods may be called concurrently. A file system without such locks is
// an error of Take.
package lease

import (
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
const File = "leases"

// ErrHeld says that another process works on the conversation, or another
// user of this Book.
var ErrHeld = errors.New("somebody else works on the conversation")

// patience is how long Take waits for a lock to go: a process that was killed
// while it started another one leaves its locks with the child until that
// one's exec, and nothing tells of its end.
const patience = 500 * time.Millisecond

// Book holds the leases that this process has in one directory.
type Book struct {
	file *os.File

	mu    sync.Mutex
	taken map[event.ConversationID]bool
}

// Open opens the leases of a directory, which is made if need be.
func Open(dir string) (*Book, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "make the directory of leases")
	}
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "open the leases")
	}
	return &Book{file: f, taken: map[event.ConversationID]bool{}}, nil
}

// Close gives everything back.
func (b *Book) Close() error { return b.file.Close() }

// Take takes the lease of a conversation until release is called or the
// process ends. ErrHeld if somebody else has it.
func (b *Book) Take(id event.ConversationID) (release func(), err error) {
	at, err := place(id)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	held := b.taken[id]
	b.taken[id] = true
	b.mu.Unlock()
	if held {
		return nil, ErrHeld
	}
	if err := b.lock(at); err != nil {
		b.drop(id)
		return nil, err
	}
	return sync.OnceFunc(func() {
		// It fails if the file is closed, and then nothing is locked.
		_ = b.set(unix.F_UNLCK, at)
		b.drop(id)
	}), nil
}

func (b *Book) drop(id event.ConversationID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.taken, id)
}

func (b *Book) lock(at int64) error {
	for began := time.Now(); ; {
		err := b.set(unix.F_WRLCK, at)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES):
			return fault.Wrap(err, fault.Unavailable, "lock a conversation in "+b.file.Name())
		case time.Since(began) > patience:
			return ErrHeld
		}
		<-time.After(patience / 20)
	}
}

// set locks or unlocks a byte. The lock belongs to the open file, not to the
// process, as fcntl(2) says of open file description locks; where the system
// has only the other ones, they do as long as nobody else here opens the file.
func (b *Book) set(kind int16, at int64) error {
	l := &unix.Flock_t{Type: kind, Start: at, Len: 1}
	err := unix.FcntlFlock(b.file.Fd(), unix.F_OFD_SETLK, l)
	if errors.Is(err, unix.EINVAL) {
		err = unix.FcntlFlock(b.file.Fd(), unix.F_SETLK, l)
	}
	return err
}

// place is the byte that stands for a conversation: as many bits of its
// random id as an offset has. Should two ever meet, one waits for the other.
func place(id event.ConversationID) (int64, error) {
	u, err := uuid.Parse(string(id))
	if err != nil {
		return 0, fmt.Errorf("the conversation %q has no lease: %w", id, err)
	}
	return int64(binary.BigEndian.Uint64(u[8:]) &^ (3 << 62)), nil
}
