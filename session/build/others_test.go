package build_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/session/build"
)

// workspaces is a store with a conversation in each directory.
type workspaces []string

func (w workspaces) WorkingDirs(context.Context, int) ([]string, error) { return w, nil }

// startedSandbox reports the Spec of a sandbox, and starts none.
type startedSandbox struct {
	sandbox.Provider
	specs chan sandbox.Spec
}

func (s startedSandbox) Start(_ context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	s.specs <- spec
	return nil, fault.New(fault.Invalid, "none is started here")
}

// TestOtherWorkspaces: a sandbox hides the workspaces of other conversations, but no
// path that its own one needs.
func TestOtherWorkspaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all workspaces
	for _, name := range []string{"other", "repo", "repo/sub", "repo/sub/in", "repo/beside", "granted", "granted/in", "mounted"} {
		all = append(all, filepath.Join(dir, name))
		must.Succeed(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "repo/.git"), 0o755))
	for name, test := range map[string]struct {
		oneUser bool
		want    []string
	}{
		"one user":   {true, []string{"other"}},
		"many users": {false, []string{"other", "repo/beside", "granted", "mounted"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			specs := make(chan sandbox.Spec, 1)
			classes := build.StandardClasses()
			classes.Sandboxes = classes.Sandboxes.With(process.Class.Made(func(sandbox.Config) (sandbox.Provider, error) {
				return startedSandbox{specs: specs}, nil
			}))
			b, err := build.New(build.Options{Dir: t.TempDir(), Store: all, OneUser: test.oneUser, Classes: classes})
			must.Succeed(t, err)
			r := request(t)
			r.Workspace, r.SandboxClass, r.Readable = filepath.Join(dir, "repo/sub"), process.Class.Name, []string{filepath.Join(dir, "granted")}
			r.Container.Mounts = []sandbox.Mount{{Source: filepath.Join(dir, "mounted"), Target: "/data"}, {Source: "volume", Target: "/volume"}}
			res, err := b.Build(t.Context(), r)
			must.Succeed(t, err)
			var got []string
			for _, path := range (<-specs).AlsoHidden {
				rel, err := filepath.Rel(dir, path)
				must.Succeed(t, err)
				got = append(got, rel)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("hidden (-want +got):\n%s", diff)
			}
			must.Report(t, res.Close(t.Context(), false))
		})
	}
}
