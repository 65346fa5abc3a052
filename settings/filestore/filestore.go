// Package filestore keeps documents in files that several processes may share,
// such as our server and the reference's: locked while they are changed, and
// replaced as a whole. [Files] may keep them elsewhere.
//
// # Usage
//
//	unlock, err := filestore.Lock(ctx, dir+"/.settings.lock")
//	defer unlock()
//	raw, err := filestore.Read(path) // nil where there is no file
//	err = filestore.Write(path, raw)
//
// # Concurrency
//
// Everything is safe for concurrent use, between processes as well. The locks are
// flock(2) locks, which the reference takes on the same files; they are not
// re-entrant.
//
// # Failure
//
// A lock that others hold for too long is an error of kind Unavailable. A
// write that fails leaves the file as it was.
package filestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/schema"
)

// LockTimeout is how long a lock is waited for, as in the reference.
const LockTimeout = 30 * time.Second

// Lock takes the lock of a file, which is made with its directory if need be.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "make the directory of a lock")
	}
	ctx, cancel := context.WithTimeout(ctx, LockTimeout)
	defer cancel()
	return filelock.Lock(ctx, path)
}

// Read returns the content of a file, nil where there is none.
func Read(path string) ([]byte, error) {
	raw, err := textfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && raw == nil {
		raw = []byte{}
	}
	return raw, err
}

// Write replaces a file. Nobody but its owner may read it, and it is on disk
// when Write returns.
func Write(path string, raw []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return Sync(dir)
}

// WriteDocument replaces a file by a document, in the form of the reference's
// files.
func WriteDocument(f Files, path string, doc any) error {
	raw, err := schema.Indent(doc)
	if err != nil {
		return err
	}
	return f.Write(path, raw)
}

// Sync puts the entries of a directory on disk: after a rename or a removal.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
