// Package local keeps objects as files in a directory.
//
// # Usage
//
//	s, err := local.Open("/srv/deft/files")
//	err = s.Close()
//
// # Concurrency and failure
//
// As documented in package objectstore. An object is written beside its place and moved
// there; the leftover of a process that was killed has a name that begins with a dot.
package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/google/uuid"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/objectstore"
)

// Store is an [objectstore.Store] in a directory.
type Store struct{ root *os.Root }

var _ objectstore.Store = (*Store)(nil)

// Open opens a directory, which is made with mode 0700 if need be.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "make the directory of files")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "open the directory of files")
	}
	return &Store{root}, nil
}

// Close closes the directory.
func (s *Store) Close() error { return s.root.Close() }

// Put implements [objectstore.Store].
func (s *Store) Put(ctx context.Context, key string, content io.Reader) (err error) {
	if err := objectstore.CheckKey(key); err != nil {
		return err
	}
	dir := path.Dir(key)
	if err := s.root.MkdirAll(dir, 0o700); err != nil {
		return failed(err, "store")
	}
	part := path.Join(dir, ".part-"+uuid.NewString())
	f, err := s.root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return failed(err, "store")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.remove(part))
		}
	}()
	n, err := io.Copy(f, reader{ctx, content})
	if err == nil && n == 0 {
		err = objectstore.ErrEmpty
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return failed(err, "store")
	}
	if err = s.root.Rename(part, key); err == nil {
		err = s.sync(dir)
	}
	return failed(err, "store")
}

// sync makes the names in a directory durable.
func (s *Store) sync(dir string) error {
	d, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// reader ends when its context does.
type reader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements [io.Reader].
func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, fault.Wrap(err, fault.Canceled, "read what is stored")
	}
	return r.r.Read(b)
}

// Get implements [objectstore.Store].
func (s *Store) Get(_ context.Context, key string) (io.ReadCloser, error) {
	if err := objectstore.CheckKey(key); err != nil {
		return nil, err
	}
	f, err := s.root.Open(key)
	if err != nil {
		return nil, failed(err, "read")
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fault.New(fault.NotFound, "there is no object "+key), err, f.Close())
	}
	return f, nil
}

// Delete implements [objectstore.Store].
func (s *Store) Delete(_ context.Context, key string) error {
	if err := objectstore.CheckKey(key); err != nil {
		return err
	}
	return failed(s.remove(key), "delete")
}

func (s *Store) remove(name string) error {
	if err := s.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func failed(err error, what string) error {
	switch {
	case err == nil || fault.KindOf(err) != fault.Internal:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(err, fault.NotFound, what+" a file of the server")
	case errors.Is(err, fs.ErrPermission):
		return fault.Wrap(err, fault.Denied, what+" a file of the server")
	}
	return fault.Wrap(err, fault.KindOf(err), what+" a file of the server")
}
