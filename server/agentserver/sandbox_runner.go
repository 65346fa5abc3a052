package agentserver

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/bash"
	"github.com/deft-dev/deft/server/agentserver/git"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings"
)

// sandboxRunner runs the shell commands of a conversation's clients in its
// sandbox. Their output is available when they have ended.
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

// newGit makes the routes of repositories, whose owner's settings are own.
func (s *services) newGit(own *settings.Service) *git.Service {
	return git.New(git.Options{
		Secret: func(ctx context.Context, name string) (string, error) {
			v, err := own.Secret(ctx, name)
			if fault.Is(err, fault.NotFound) {
				return "", nil
			}
			return string(v), err
		},
		Forges: s.adapters.Forges(),
		Run: func(ctx context.Context, p git.Program) (git.Printed, error) {
			id, ok := event.ParseConversationID(p.Conversation)
			if !ok {
				return git.Printed{}, fault.New(fault.NotFound, "Conversation not found: "+p.Conversation)
			}
			c, err := s.scope.Get(ctx, id)
			if err != nil {
				return git.Printed{}, err
			}
			got, err := c.RunProgram(ctx, session.Program{Argv: p.Argv, Dir: p.Dir, Seconds: p.Seconds})
			return git.Printed{Stdout: got.Stdout, Stderr: got.Stderr, ExitCode: got.ExitCode}, err
		},
		Author: func(context.Context) (git.Author, error) {
			doc, err := own.Load()
			if err != nil {
				return git.Author{}, err
			}
			p, err := doc.Preferences()
			return git.Author{Name: p.GitUserName, Email: p.GitUserEmail}, err
		},
	})
}
