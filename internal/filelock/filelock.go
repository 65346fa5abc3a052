// Package filelock locks files between processes, and between the goroutines
// of one process. It waits for a lock in the kernel and never polls.
//
// # Usage
//
//	unlock, err := filelock.Lock(ctx, filepath.Join(dir, ".lock"))
//	if err != nil {
//		return err
//	}
//	defer unlock()
//
// The locks are flock(2) locks, as Python's filelock package takes them. They end
// with the process, however it ends. They are not re-entrant.
//
// # Concurrency
//
// Lock is safe for concurrent use. Callers of one process queue for a path in
// memory; only the first of them waits for other processes. The kernel offers
// no way to cancel that wait, so it runs in a goroutine. When its caller gives
// up, the goroutine stays until the other process unlocks the file, and then
// unlocks it at once. There is at most one such goroutine for each path.
//
// # Failure
//
// A wait that ends with ctx is an error of kind Unavailable after a deadline,
// else Canceled. A file that cannot be opened or locked is an error of kind
// Denied.
package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// Lock waits for the exclusive lock of a file until ctx ends. A file that is
// missing is created with mode 0600; its directory must exist. A path of a
// directory locks the directory itself. Paths should be absolute. Calls of
// unlock after the first have no effect.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	q := join(path)
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		leave(path, q)
		return nil, givenUp(ctx, path)
	}
	done := func() {
		<-q.turn
		leave(path, q)
	}
	if ctx.Err() != nil { // select chooses at random
		done()
		return nil, givenUp(ctx, path)
	}
	f, err := open(path)
	if err != nil {
		done()
		return nil, failed(err, path)
	}
	release := func() {
		_ = f.Close() // which unlocks; nothing was written
		done()
	}
	err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return wait(ctx, path, f, release)
	}
	if err != nil {
		release()
		return nil, failed(err, path)
	}
	return sync.OnceFunc(release), nil
}

// wait blocks until the file is locked or ctx ends. release is called when the
// file is no longer needed.
func wait(ctx context.Context, path string, f *os.File, release func()) (unlock func(), err error) {
	locked := make(chan error)
	go func() {
		err := flock(f, unix.LOCK_EX)
		select {
		case locked <- err:
		case <-ctx.Done(): // the caller has given up
			release()
		}
	}()
	select {
	case err = <-locked:
	case <-ctx.Done():
		return nil, givenUp(ctx, path)
	}
	if err != nil {
		release()
		return nil, failed(err, path)
	}
	return sync.OnceFunc(release), nil
}

func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, unix.EISDIR) {
		return os.Open(path)
	}
	return f, err
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func givenUp(ctx context.Context, path string) error {
	name := filepath.Base(path)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.Wrap(context.Cause(ctx), fault.Unavailable, name+" is locked by another process")
	}
	return fault.Wrap(context.Cause(ctx), fault.Canceled, "wait for the lock "+name)
}

func failed(err error, path string) error {
	return fault.Wrap(err, fault.Denied, "lock "+filepath.Base(path))
}

// queue is shared by the callers of one process for a path.
type queue struct {
	turn  chan struct{} // holds an item while a caller locks the file or waits for it
	users int           // guarded by mu
}

var (
	mu     sync.Mutex
	queues = map[string]*queue{} // by path, while there are users
)

func join(path string) *queue {
	mu.Lock()
	defer mu.Unlock()
	q := queues[path]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		queues[path] = q
	}
	q.users++
	return q
}

func leave(path string, q *queue) {
	mu.Lock()
	defer mu.Unlock()
	if q.users--; q.users == 0 {
		delete(queues, path)
	}
}
