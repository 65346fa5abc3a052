package store_test

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/runtimeapi/builds"
	"github.com/deft-dev/deft/server/runtimeapi/registry"
	"github.com/deft-dev/deft/server/runtimeapi/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), path, keyring.New("test"))
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, s.Close()) })
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b%?.db")
	s := open(t, path)
	one := registry.Runtime{ID: "1", Owner: "o", SessionID: "s", SessionKey: "k", State: registry.Starting, Reasons: []string{"r"}, Created: time.Now().UTC().Round(0)}
	two := registry.Runtime{ID: "2", Owner: "p", SessionID: "s"}
	for _, r := range []registry.Runtime{one, two} {
		must.Succeed(t, s.Save(t.Context(), r))
	}
	if err := s.Save(t.Context(), registry.Runtime{ID: "3", Owner: "o", SessionID: "s"}); err == nil {
		t.Error("a session has two runtimes")
	}
	one.State = registry.Running
	must.Succeed(t, s.Save(t.Context(), one))
	for range 2 {
		must.Succeed(t, s.Delete(t.Context(), "2"))
	}
	got, err := open(t, path).Load(t.Context())
	if diff := cmp.Diff([]registry.Runtime{one}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
}

func TestDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	must.Succeed(t, os.WriteFile(path, []byte("this is no database, whatever its name says, and it is long enough to be one"), 0o600))
	if _, err := store.Open(t.Context(), path, keyring.New("test")); !fault.Is(err, fault.Corrupt) {
		t.Errorf("%v", err)
	}
	if _, err := store.Open(t.Context(), filepath.Join(path, "y"), keyring.New("test")); !fault.Is(err, fault.Denied) {
		t.Errorf("%v", err)
	}
}

// TestSealed: the files have no session key, and another secret key does not read them.
func TestSealed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	s := open(t, path)
	key := rand.Text()
	must.Succeed(t, s.Save(t.Context(), registry.Runtime{ID: "1", SessionKey: key}))
	files, err := os.ReadDir(dir)
	must.Succeed(t, err)
	for _, f := range files {
		raw, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil || bytes.Contains(raw, []byte(key)) {
			t.Errorf("%s has the session key (%v)", f.Name(), err)
		}
	}
	other, err := store.Open(t.Context(), path, keyring.New("other"))
	must.Succeed(t, err)
	defer other.Close()
	if got, err := other.Load(t.Context()); !fault.Is(err, fault.Denied) || fault.HintOf(err) == "" {
		t.Errorf("%v, %v", got, err)
	}
	if s, err := store.Open(t.Context(), path, keyring.New("")); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v, %v without a key", s, err)
	}
}

func TestBuilds(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "x.db"))
	one := builds.Build{ID: "1", Owner: "o", Tags: []string{"a:1", "a:2"}, Status: builds.Queued, Created: time.Now().UTC().Round(0)}
	two := builds.Build{ID: "2", Tags: []string{"b:1"}}
	for _, b := range []builds.Build{one, two} {
		must.Succeed(t, s.SaveBuild(t.Context(), b))
	}
	one.Status, one.Log, one.LogSkipped = builds.Failure, "log", 7
	must.Succeed(t, s.SaveBuild(t.Context(), one))
	for range 2 {
		must.Succeed(t, s.DeleteBuild(t.Context(), "2"))
	}
	got, err := s.LoadBuilds(t.Context())
	if diff := cmp.Diff([]builds.Build{one}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
