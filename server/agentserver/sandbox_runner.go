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
	return runShell(ctx, func(ctx context.Context, p session.Program) (session.ProgramResult, error) {
		return b.s.runProgram(ctx, b.id, p)
	}, j, j.Dir)
}

// runProgram runs a program in the sandbox of a conversation.
func (s *services) runProgram(ctx context.Context, conversation string, p session.Program) (session.ProgramResult, error) {
	id, ok := event.ParseConversationID(conversation)
	if !ok {
		return session.ProgramResult{}, fault.New(fault.NotFound, "Conversation not found: "+conversation)
	}
	c, err := s.scope.Get(ctx, id)
	if err != nil {
		return session.ProgramResult{}, err
	}
	return c.Environment().RunProgram(ctx, p)
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
		Run:    s.runProgram,
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
