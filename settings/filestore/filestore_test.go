package filestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/filestore"
)

func TestLocksKeepEveryChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, lock := filepath.Join(dir, "n"), filepath.Join(dir, "sub", ".lock")
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			unlock, err := filestore.Lock(t.Context(), lock)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			raw, err := filestore.Read(path)
			n := 0
			if raw != nil && err == nil {
				n, err = strconv.Atoi(string(raw))
			}
			must.Report(t, err)
			must.Report(t, filestore.Write(path, []byte(strconv.Itoa(n+1))))
		})
	}
	all.Wait()
	if raw, err := filestore.Read(path); err != nil || string(raw) != "30" {
		t.Errorf("%s %v", raw, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("something is left behind: %v %v", entries, err)
	}
}

// held takes a lock as another process would.
func held(t *testing.T) (path string, release func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), ".lock")
	f, err := os.Create(path) // another open file is another holder
	must.Succeed(t, err)
	t.Cleanup(func() { _ = f.Close() })
	must.Succeed(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	return path, func() { _ = f.Close() }
}

func TestAWaitForALockEnds(t *testing.T) {
	t.Parallel()
	path, release := held(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := filestore.Lock(ctx, path); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	release()
}

func TestALockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	path, release := held(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filestore.Lock(ctx, path); !fault.Is(err, fault.Canceled) {
		t.Errorf("given up: %v", err)
	}
	release()
	unlock, err := filestore.Lock(t.Context(), path)
	must.Succeed(t, err)
	unlock()
}

func TestReadSaysWhatIsNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if raw, err := filestore.Read(filepath.Join(dir, "none")); raw != nil || err != nil {
		t.Errorf("%q %v", raw, err)
	}
	empty := filepath.Join(dir, "empty")
	must.Succeed(t, filestore.Write(empty, nil))
	if raw, err := filestore.Read(empty); raw == nil || err != nil {
		t.Errorf("an empty file is there: %v %v", raw, err)
	}
	if err := filestore.Write(filepath.Join(empty, "below"), nil); err == nil {
		t.Error("a file below a file")
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	described := &schema.Object{Fields: []schema.Field{
		{Name: "n", Type: schema.Int{}, Default: schema.Count(1)}, {Name: "key", Type: schema.Opt(schema.Secret{})},
	}}
	at := func(key string, previous ...string) *filestore.Document {
		return &filestore.Document{Path: filepath.Join(dir, "d.json"), Lock: ".lock", Schema: described, Keys: keyring.New(key, previous...)}
	}
	d := at("first")
	if m, err := d.Read(); err != nil || m.Get("n") != schema.Count(1) {
		t.Errorf("without a file: %v %v", m, err)
	}
	refused := errors.New("refused")
	if err := d.Change(t.Context(), func(*schema.Map) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if raw, err := filestore.Read(d.Path); raw != nil || err != nil {
		t.Errorf("a change that failed was written: %s %v", raw, err)
	}
	set := func(m *schema.Map) error { m.Set("key", "k1"); return nil }
	must.Succeed(t, d.Change(t.Context(), set))
	if m, err := d.Read(); err != nil || m.Text("key") != "k1" {
		t.Errorf("after a change: %v %v", m, err)
	}
	if m, err := at("second").Read(); err != nil || m.Get("key") != nil {
		t.Errorf("with another key: %v %v", m, err)
	}
	if err := at("second").Change(t.Context(), set); !errors.Is(err, filestore.ErrUnreadable) || !errors.Is(err, schema.ErrSealed) {
		t.Errorf("what no key opens was written over: %v", err)
	}
	must.Succeed(t, at("second", "first").Renew(t.Context()))
	if m, err := at("second").Read(); err != nil || m.Text("key") != "k1" {
		t.Errorf("sealed anew: %v %v", m, err)
	}
	must.Succeed(t, filestore.Write(d.Path, []byte("{")))
	if _, err := d.Read(); !errors.Is(err, filestore.ErrUnreadable) {
		t.Errorf("damaged: %v", err)
	}
}

func TestOnlyThePresentVersion(t *testing.T) {
	t.Parallel()
	for v, ok := range map[any]bool{nil: true, schema.Count(3): true, schema.Count(2): false, schema.Count(4): false, "3": false} {
		err := filestore.CheckVersion(schema.Of("schema_version", v), "Document", 3)
		if ok != (err == nil) || !ok && !fault.Is(err, fault.Unsupported) {
			t.Errorf("%v: %v", v, err)
		}
	}
}
