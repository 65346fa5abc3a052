package build_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session/build"
)

// TestProgram: providers know the program of Options, and write it when they need it, not
// before: that takes a tenth of a second of a server's first start. If it cannot be written,
// sandboxes are still found and removed, as conversations must be on a full disk.
func TestProgram(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for name, c := range map[string]struct {
		path string
		err  error // there is no provider
	}{
		"this process": {},
		"another":      {path: "/program"},
		"not built in": {err: full},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := &listed{}
			classes := build.StandardClasses()
			classes.Sandboxes = sandbox.Classes{{Name: "own", New: func(o sandbox.Config) (sandbox.Provider, error) {
				if o.Program != c.path || (o.Install != nil) != (c.path != "") {
					t.Errorf("the provider runs %q", o.Program)
				}
				return p, nil
			}}}
			var install func() error
			if c.path != "" {
				install = func() error {
					t.Error("it was written without need")
					return full
				}
			}
			b, err := build.New(build.Options{Dir: dir, Classes: classes, Program: func(d string) (string, func() error, error) {
				if d != filepath.Join(dir, "program") {
					t.Errorf("it was to be in %s", d)
				}
				return c.path, install, c.err
			}})
			must.Succeed(t, err)
			must.Succeed(t, os.Mkdir(filepath.Join(dir, "sandboxes"), 0o700))
			if err := b.Remove(t.Context(), event.NewConversationID()); !errors.Is(err, c.err) {
				t.Error(err)
			}
			if got := len(p.removed) > 0; got != (c.err == nil) {
				t.Errorf("removed: %q", p.removed)
			}
		})
	}
}
