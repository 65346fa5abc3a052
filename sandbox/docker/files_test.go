package docker_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/workspace"
	"github.com/deft-dev/deft/workspace/link"
	"github.com/deft-dev/deft/workspace/workspacetest"
)

// TestFiles reaches the files of a workspace through a container.
func TestFiles(t *testing.T) {
	t.Parallel()
	p := provider(t, t.TempDir())
	workspacetest.Run(t, func(t *testing.T, dir string) workspace.Files {
		box, err := p.Start(t.Context(), sandbox.Spec{
			ID:   strings.ToLower(strings.ReplaceAll(filepath.Base(filepath.Dir(filepath.Dir(dir)))+filepath.Base(filepath.Dir(dir)), "_", "")),
			Argv: []string{program, "files", dir}, Env: []string{"PATH=/usr/bin:/bin"}, Workspace: dir,
			Container: sandbox.Container{Pull: sandbox.PullNever},
		})
		must.Succeed(t, err)
		rt, err := remote.New(remote.Options{Dial: box.Dial})
		must.Succeed(t, err)
		t.Cleanup(func() {
			must.Report(t, errors.Join(rt.Close(), p.Remove(context.WithoutCancel(t.Context()), box.ID())))
		})
		return link.New(dir, rt)
	})
}
