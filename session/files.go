package session

import (
	"context"

	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/workspace"
)

// Files opens the files of the conversation's workspace. fs.ErrNotExist if it is gone,
// of kind Invalid if it is another one than when the conversation was made.
func (c *Conversation) Files(context.Context) (workspace.Files, error) {
	c.mu.Lock()
	rec := c.rec
	c.mu.Unlock()
	root, err := rec.Directory.Open(rec.Workspace.WorkingDir)
	if err != nil {
		return nil, err
	}
	return workspace.Below(root), nil
}

// WorkspaceContains reports whether an absolute path is in the workspace, as far as
// that can be said without its Files, which refuse what is not.
func (c *Conversation) WorkspaceContains(path string) bool {
	return realpath.Inside(c.Workspace(), path)
}
