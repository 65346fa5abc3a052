package agentserver

import (
	"net/http"

	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

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
