package docker_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
)

// TestEngine asks the engine what it is.
func TestEngine(t *testing.T) {
	t.Parallel()
	got, err := provider(t, t.TempDir()).Engine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Version == "" || got.Address == "" || len(got.Runtimes) == 0 || !slices.Contains(got.Images, image) {
		t.Errorf("%+v, want a version, an address, runtimes and the image %s", got, image)
	}
}

// TestNoEngine: where nothing answers, what needs the engine says so and what to do.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	p, err := docker.New(docker.Options{Dir: t.TempDir(), Host: "unix://" + filepath.Join(t.TempDir(), "no.sock"), Self: program})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, about := p.Engine(t.Context())
	_, list := p.List(t.Context())
	_, start := p.Start(t.Context(), sandbox.Spec{ID: "one", Argv: []string{program}, Workspace: t.TempDir()})
	for what, err := range map[string]error{"Engine": about, "List": list, "Start": start} {
		if !fault.Is(err, fault.Unavailable) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v, want an error of kind unavailable with a hint", what, err)
		}
	}
}
