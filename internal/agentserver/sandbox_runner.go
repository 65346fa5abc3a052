package agentserver

import (
	"context"
	"io"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/bash"
	"github.com/deft-dev/deft/session"
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
	c, err := b.s.sessions.Load().Get(ctx, id)
	if err != nil {
		return 0, err
	}
	got, err := c.RunProgram(ctx, session.Program{Argv: []string{"sh", "-c", j.Command}, Dir: j.Dir, Seconds: commandLimit})
	if err != nil {
		if ctx.Err() != nil {
			return -1, context.Cause(ctx)
		}
		return 0, err
	}
	_, _ = io.WriteString(j.Stdout, got.Stdout) // neither fails
	_, _ = io.WriteString(j.Stderr, got.Stderr)
	return got.ExitCode, nil
}
