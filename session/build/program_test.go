package build_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session/build"
)

// TestProgram: providers run the program of Options. If that cannot be written,
// sandboxes are still found and removed, as conversations must be on a full disk.
func TestProgram(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for name, c := range map[string]struct {
		path string
		err  error
		none bool // there is no provider
	}{
		"this process":         {},
		"another":              {path: "/program"},
		"cannot be written":    {path: "/program", err: full},
		"nobody knows its way": {err: full, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := &listed{}
			classes := build.StandardClasses()
			classes.Sandboxes = sandbox.Classes{{Name: "own", New: func(o sandbox.Config) (sandbox.Provider, error) {
				if o.Program != c.path {
					t.Errorf("the provider runs %q", o.Program)
				}
				return p, nil
			}}}
			b, err := build.New(build.Options{Dir: dir, Classes: classes, Program: func(d string) (string, error) {
				if d != filepath.Join(dir, "program") {
					t.Errorf("it was to be in %s", d)
				}
				return c.path, c.err
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "sandboxes"), 0o700); err != nil {
				t.Fatal(err)
			}
			id := event.NewConversationID()
			if err := b.Remove(t.Context(), id); (err != nil) != c.none || errors.Is(err, full) != c.none {
				t.Error(err)
			}
			if got := len(p.removed) > 0; got == c.none {
				t.Errorf("removed: %q", p.removed)
			}
		})
	}
}
