package agentserver

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/bash"
)

// sandboxRunner runs the shell commands of a conversation's clients in its
// sandbox. What they print is available when they have ended.
type sandboxRunner struct {
	s  *services
	id string
}

// commandLimit bounds such a command, in seconds: its caller's limit is
// shorter.
const commandLimit = 24 * 60 * 60

// Run implements [bash.Runner].
func (b sandboxRunner) Run(ctx context.Context, j bash.Job) (int, error) {
	id, ok := event.ParseConversationID(b.id)
	if !ok {
		return 0, fault.New(fault.NotFound, "Conversation not found: "+b.id)
	}
	c, err := b.s.scope.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	return runShell(ctx, c.RunProgram, j, j.Dir)
}
