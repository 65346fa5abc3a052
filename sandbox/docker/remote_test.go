package docker_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
)

// TestNoAddress: an address of the engine that is none is said where one is needed.
func TestNoAddress(t *testing.T) {
	t.Parallel()
	p, err := docker.New(docker.Options{Dir: filepath.Join(t.TempDir(), "docker"), Host: "nonsense", Self: program})
	must.Succeed(t, err)
	defer p.Close()
	if err := p.Remove(t.Context(), "one"); err != nil {
		t.Errorf("Remove: %v", err)
	}
	_, errs := p.List(t.Context())
	_, start := p.Start(t.Context(), sandbox.Spec{ID: "one", Argv: []string{program}, Workspace: t.TempDir()})
	_, get := p.Get(t.Context(), "one")
	for what, err := range map[string]error{"List": errs, "Start": start, "Get": get} {
		if !fault.Is(err, fault.Invalid) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v, want an error of kind invalid with a hint", what, err)
		}
	}
}

// TestRemoteEngine: an engine elsewhere starts nothing here, and stands in nobody's
// way: removing a sandbox that was never started asks none.
func TestRemoteEngine(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "docker")
	p, err := docker.New(docker.Options{Dir: dir, Host: "tcp://127.0.0.1:1", Self: program})
	must.Succeed(t, err)
	defer p.Close()
	if err := p.Remove(t.Context(), "one"); err != nil {
		t.Errorf("Remove: %v", err)
	}
	_, err = p.Start(t.Context(), sandbox.Spec{ID: "one", Argv: []string{program}, Workspace: t.TempDir()})
	if !fault.Is(err, fault.Unsupported) {
		t.Errorf("Start: %v, want an error of kind unsupported", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a directory was made: %v", err)
	}
}
