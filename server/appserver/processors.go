package appserver

import (
	"context"

	"github.com/deft-dev/deft/callback"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

// processorServices are the services for processors of a conversation's event
// callbacks.
type processorServices struct {
	s            *services
	owner        identity.Tenant
	conversation event.ConversationID
}

// processorServices returns them.
func (s *services) processorServices(owner identity.Tenant, conversation event.ConversationID) callback.Services {
	return processorServices{s, owner, conversation}
}

// Token implements [callback.Services].
func (p processorServices) Token(ctx context.Context, provider string) (token llm.Secret, host string, err error) {
	all, err := p.s.owners.tokens(ctx, p.owner)
	if err != nil {
		return "", "", err
	}
	t, ok := all[provider]
	if !ok {
		return "", "", fault.New(fault.Auth, "there is no token of "+provider).Hint("store one in the settings of Git hosts")
	}
	return t.Token, t.Host, nil
}

// Forge implements [callback.Services].
func (p processorServices) Forge(ctx context.Context, provider, repository string) (forge.Host, string, error) {
	return p.s.owners.Host(ctx, p.owner, provider, repository)
}

// Ask implements [callback.Services].
func (p processorServices) Ask(ctx context.Context, question string) (string, error) {
	c, err := p.s.conversations.Continue(ctx, p.owner, p.conversation)
	if err != nil {
		return "", err
	}
	return c.Assistant().Ask(ctx, question)
}

// Send implements [callback.Services].
func (p processorServices) Send(ctx context.Context, text string) error {
	c, err := p.s.conversations.Continue(ctx, p.owner, p.conversation)
	if err != nil {
		return err
	}
	return c.Send(ctx, session.Message{Content: event.Texts(text), Run: true})
}
