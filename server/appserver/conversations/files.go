package conversations

import (
	"context"
	"path"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/workspace"
)

// Files opens the workspace of a conversation, and returns where a path is in it that a
// client names: one below the directory that clients know, or relative to the
// conversation's, which "" is. The caller closes the files. Conflict if they are not there,
// because the sandbox was deleted or is lost; Invalid for a name that no file can have.
func (s *Service) Files(ctx context.Context, owner identity.Tenant, id event.ConversationID, named string) (workspace.Files, string, error) {
	if strings.ContainsRune(named, 0) {
		return nil, "", fault.New(fault.Invalid, "a path has no NUL character")
	}
	c, err := s.Scope(owner).Get(ctx, id)
	if err != nil {
		return nil, "", s.unlessRecorded(ctx, id, err)
	}
	inside, err := c.WorkspaceInside()
	if err == nil && inside { // only its runtime has the files
		c, err = s.Open(ctx, owner, id)
	}
	if err != nil {
		return nil, "", err
	}
	info, err := s.One(ctx, owner, id)
	if err != nil {
		return nil, "", err
	}
	if inside && info.In != nil && s.o.Sandboxes.StatusOf(ctx, *info.In) == sandboxes.Lost { // opening them would start a new one
		return nil, "", fault.New(fault.Conflict, s.o.Sandboxes.LostDetail())
	}
	if info.In == nil && info.Conversation.Sandbox != "" {
		return nil, "", errNoSandbox
	}
	if info.In != nil && (named == sandboxes.ClientDirectory || strings.HasPrefix(named, sandboxes.ClientDirectory+"/")) {
		if named, err = sandboxes.Locate(*info.In, named); err != nil {
			return nil, "", err
		}
		if strings.HasPrefix(c.Workspace(), sandboxes.ClientDirectory+"/") {
			named = s.o.Sandboxes.Inside(*info.In, named)
		}
	}
	if !path.IsAbs(named) {
		named = path.Join(c.Workspace(), named)
	}
	files, err := c.Environment().Files(ctx)
	if err != nil && info.In != nil && s.o.Sandboxes.StatusOf(ctx, *info.In) == sandboxes.Lost {
		err = fault.New(fault.Conflict, s.o.Sandboxes.LostDetail())
	}
	return files, named, err
}

var errNoSandbox = fault.New(fault.Conflict, "the sandbox of this conversation was deleted").
	Hint("send a message or resume the conversation: its kept files are brought back")
