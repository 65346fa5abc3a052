package bash

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// partial marks files that were not written to their end.
const partial = ".tmp"

// load lists the events of a directory; a missing one has none. It removes files
// that a crash left incomplete.
func load(dir string) ([]*entry, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open bash events: %w", err)
	}
	defer d.Close()
	var entries []*entry
	for {
		names, err := d.Readdirnames(1024)
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list bash events: %w", err)
		}
		for _, name := range names {
			if e := entryOf(name); e != nil {
				entries = append(entries, e)
			} else if own, ok := strings.CutSuffix(name, partial); ok && entryOf(own) != nil {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					return nil, fmt.Errorf("remove a partial bash event: %w", err)
				}
			}
		}
	}
}

// write stores an event's JSON under its name.
func write(dir, name string, data []byte) error {
	path := filepath.Join(dir, name)
	err := os.WriteFile(path+partial, data, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			err = os.WriteFile(path+partial, data, 0o600)
		}
	}
	if err == nil {
		err = os.Rename(path+partial, path)
	}
	if err != nil {
		return fmt.Errorf("store a bash event: %w", errors.Join(err, ignoreMissing(os.Remove(path+partial))))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// read returns an event's JSON on one line.
func (s *Service) read(e *entry) (json.RawMessage, error) {
	if e.kept != nil {
		return e.kept, nil
	}
	data, err := os.ReadFile(filepath.Join(s.o.Dir, e.name()))
	if err != nil {
		return nil, fmt.Errorf("read a bash event: %w", err)
	}
	if bytes.IndexByte(data, '\n') >= 0 || !json.Valid(data) { // the reference indents
		var b bytes.Buffer
		if err := json.Compact(&b, data); err != nil {
			return nil, fmt.Errorf("read a bash event: %w", err)
		}
		data = b.Bytes()
	}
	return data, nil
}

// orderOf returns the order of an output.
func (s *Service) orderOf(e *entry) (int, error) {
	if n := e.order.Load(); n != unread {
		return int(n), nil
	}
	o, err := s.output(e)
	if err != nil {
		return 0, err
	}
	e.order.Store(int32(o.Order))
	return o.Order, nil
}

func (s *Service) output(e *entry) (o Output, err error) {
	data, err := s.read(e)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("read a bash event: %w", err)
	}
	return o, nil
}

// remove deletes the files of events.
func (s *Service) remove(gone []*entry) error {
	var errs []error
	for _, e := range gone {
		if e.kept == nil {
			errs = append(errs, ignoreMissing(os.Remove(filepath.Join(s.o.Dir, e.name()))))
		}
	}
	return errors.Join(errs...)
}
