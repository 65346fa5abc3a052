package workspace_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/workspace"
	"github.com/deft-dev/deft/workspace/workspacetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	workspacetest.Run(t, func(t *testing.T, dir string) workspace.Files {
		files, err := workspace.Open(dir)
		must.Succeed(t, err)
		t.Cleanup(func() { must.Report(t, files.Close()) })
		return files
	})
}
