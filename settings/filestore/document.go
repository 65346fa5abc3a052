package filestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
)

// ErrUnreadable is the error of a file that exists and cannot be used: it is no
// JSON, does not fit its schema, or has a secret that no key opens.
var ErrUnreadable = errors.New("the file cannot be used")

// Document is a JSON object in a file. The exported fields do not change.
type Document struct {
	Path, Lock string // Lock names the file beside it that is locked for changes
	Schema     *schema.Object
	Keys       schema.Keys // seal and open secrets; nil stores them in the clear
	Files      Files       // that it is one of; nil for Disk

	mu   sync.Mutex
	raw  []byte // source of the last one
	last *schema.Map
}

// Read returns the document with its secrets opened, the defaults where there is
// no file. A secret that no key opens is null. The result is shared: callers
// change copies.
func (d *Document) Read() (*schema.Map, error) {
	raw, err := OnDisk(d.Files).Read(d.Path)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != nil && bytes.Equal(raw, d.raw) && (raw == nil) == (d.raw == nil) {
		return d.last, nil
	}
	m, err := d.check(raw, schema.Reading{Keys: d.Keys})
	if err == nil {
		d.raw, d.last = raw, m
	}
	return m, err
}

// ReadAs is [Document.Read] with secrets as how says. The caller owns the
// document.
func (d *Document) ReadAs(how schema.Reading) (*schema.Map, error) {
	raw, err := OnDisk(d.Files).Read(d.Path)
	if err != nil {
		return nil, err
	}
	return d.check(raw, how)
}

func (d *Document) check(raw []byte, how schema.Reading) (*schema.Map, error) {
	if raw == nil {
		return d.Schema.Defaults(), nil
	}
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	m, err := d.Schema.Check(v, how)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return m, nil
}

// Acquire takes the lock of the document.
func (d *Document) Acquire(ctx context.Context) (unlock func(), err error) {
	return OnDisk(d.Files).Lock(ctx, filepath.Join(filepath.Dir(d.Path), d.Lock))
}

// Change writes f's change of the document. Nothing is written if f fails, or if
// the file cannot be used, for which a secret that no key opens is enough
// ([ErrUnreadable]).
func (d *Document) Change(ctx context.Context, f func(m *schema.Map) error) error {
	unlock, err := d.Acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	m, err := d.ReadAs(schema.Reading{Keys: d.Keys, Strict: true})
	if err != nil {
		return err
	}
	if err := f(m); err != nil {
		return err
	}
	out, err := d.Schema.Dump(m, schema.Storing(d.Keys))
	if err != nil {
		return err
	}
	return WriteDocument(OnDisk(d.Files), d.Path, out)
}

// Renew seals the secrets of the document anew that only an old key opens.
func (d *Document) Renew(ctx context.Context) error {
	return Renew(ctx, OnDisk(d.Files), d.Path, filepath.Join(filepath.Dir(d.Path), d.Lock), d.Keys)
}

// CheckVersion refuses a document of another schema version than the present one,
// which a document without a version has. Deft has written no other, and clients
// send the one that they read, or none; so nothing here brings documents of other
// versions up to date.
func CheckVersion(m *schema.Map, what string, present int) error {
	v := m.Get("schema_version")
	if v == nil || v == schema.Count(present) {
		return nil
	}
	n, ok := v.(json.Number)
	if !ok {
		n = "that is no number"
	}
	return fault.New(fault.Unsupported, fmt.Sprintf("%s of schema_version %.20s cannot be read, only of %d; "+
		"OpenHands 1.58 brings its older files up to date", what, n, present))
}
