package workspace_test

import (
	"testing"

	"github.com/deft-dev/deft/workspace"
	"github.com/deft-dev/deft/workspace/workspacetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	workspacetest.Run(t, func(t *testing.T, dir string) workspace.Files {
		files, err := workspace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := files.Close(); err != nil {
				t.Error(err)
			}
		})
		return files
	})
}
