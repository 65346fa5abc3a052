package session

import (
	"context"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/tool"
)

// Terminals returns the pseudo terminals of the conversation's sandbox. What was
// opened ends with the sandbox; a caller that is connected to one keeps the
// conversation loaded with [Conversation.Watch]. Unsupported if the runtime has none.
func (c *Conversation) Terminals(ctx context.Context) (tool.PTYs, error) {
	w, err := c.work(ctx)
	if err != nil {
		return nil, err
	}
	if terminals := w.res.Terminals(); terminals != nil {
		return terminals, nil
	}
	return nil, fault.New(fault.Unsupported, "the runtime of this conversation has no terminals")
}

// SandboxRequest returns the part of a [BuildRequest] that the conversation's sandbox
// is made from: a terminal in it needs no model.
func (c *configuration) SandboxRequest() BuildRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return BuildRequest{
		ID: c.id, Owner: identity.Tenant(c.meta.Owner), Workspace: c.rec.Workspace.WorkingDir, CheckWorkspace: c.CheckWorkspace,
		Placement: c.rec.Placement, Secret: c.secrets.Value,
	}
}
