package agentserver

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

// directories implements [session.WorkspaceFiles] for the directories that clients name.
// Where there is no repository, a conversation that wants a worktree works in its
// directory itself, as at the reference: its web page asks for a worktree wherever a
// conversation starts.
type directories struct {
	session.Worktrees
	rules workspacedir.Rules
	log   *slog.Logger
}

// Prepare implements [session.WorkspaceFiles].
func (d directories) Prepare(ctx context.Context, dir string, repository bool) error {
	real, err := d.rules.Check(dir)
	if err == nil && real != dir {
		err = fault.New(fault.Invalid, "the workspace "+dir+" leads through a link")
	}
	if err == nil {
		err = d.Worktrees.Prepare(ctx, dir, repository)
	}
	if err != nil || !repository {
		return err
	}
	if err := worktree.Init(ctx, dir); err != nil { // it works without
		d.log.Warn("make the workspace a git repository", "dir", dir, "err", err)
	}
	return nil
}

// checkProject implements [workspacescope.CheckProject]. Where workspaces are inside
// sandboxes, a directory that a client names without a conversation is in none of them;
// this machine's directory of that name is another one.
func (s *services) checkProject(string) error {
	inside, err := s.backend.Builder.WorkspaceInside(session.Placement{})
	if err == nil && inside {
		err = rest.Fail(http.StatusUnprocessableEntity, "project_dir: the projects of this server are inside sandboxes; conversations load what theirs say")
	}
	return err
}
