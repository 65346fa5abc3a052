package filestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Files keep documents by their paths: [Disk] in files of this machine, the App Server's
// store in a database that several machines share. Everything is safe for concurrent use,
// between processes as well.
type Files interface {
	// Lock takes the lock of a name beside a document. The error is of kind Unavailable
	// if others hold it for [LockTimeout].
	Lock(ctx context.Context, path string) (unlock func(), err error)
	// Read returns a document, nil where there is none.
	Read(path string) ([]byte, error)
	// Size returns the bytes of a document, and whether there is one.
	Size(path string) (size int64, found bool, err error)
	// Write replaces a document as a whole, durably.
	Write(path string, raw []byte) error
	// Remove deletes a document; none is no error.
	Remove(path string) error
	// Rename gives a document another path, at which there is none.
	Rename(from, to string) error
	// Names returns the names of the documents of a directory, none where there is no
	// directory.
	Names(dir string) ([]string, error)
}

// OnDisk returns f, or [Disk] for nil.
func OnDisk(f Files) Files {
	if f == nil {
		return Disk{}
	}
	return f
}

// Disk are the files of this machine, locked by flock(2).
type Disk struct{}

var _ Files = Disk{}

// Lock implements [Files].
func (Disk) Lock(ctx context.Context, path string) (unlock func(), err error) { return Lock(ctx, path) }

// Read implements [Files].
func (Disk) Read(path string) ([]byte, error) { return Read(path) }

// Write implements [Files].
func (Disk) Write(path string, raw []byte) error { return Write(path, raw) }

// Size implements [Files].
func (Disk) Size(path string) (int64, bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return info.Size(), true, nil
}

// Remove implements [Files].
func (Disk) Remove(path string) error {
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return Sync(filepath.Dir(path))
}

// Rename implements [Files].
func (Disk) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return Sync(filepath.Dir(to))
}

// Names implements [Files].
func (Disk) Names(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
