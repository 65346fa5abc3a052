package agentserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/server/agentserver/webhook"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
)

// sessionsOf returns the function with which the sockets find conversations.
func sessionsOf(m *session.Scope) func(context.Context, event.ConversationID) (socket.Conversation, error) {
	return func(ctx context.Context, id event.ConversationID) (socket.Conversation, error) {
		c, err := m.Get(ctx, id)
		return watched{c}, err
	}
}

// watched is a conversation as the sockets see it.
type watched struct{ *session.Conversation }

// Terminals implements [socket.Conversation].
func (w watched) Terminals(ctx context.Context) (tool.PTYs, error) {
	return w.Environment().Terminals(ctx)
}

// View implements [socket.Conversation].
func (w watched) View(ctx context.Context) (io.ReadWriteCloser, error) {
	return w.Environment().View(ctx)
}

// webhookObserver passes changes of conversations on to the webhooks.
type webhookObserver struct{ *webhook.Service }

// Changed implements [session.Observer].
func (o webhookObserver) Changed(id event.ConversationID, info json.RawMessage) { o.Tell(id, info) }

// Published implements [session.Observer].
func (o webhookObserver) Published(id event.ConversationID, state json.RawMessage) { o.Show(id, state) }

// cleaningBuilder also ends the shell commands of clients for a conversation
// that is deleted.
type cleaningBuilder struct {
	session.Builder
	s *services
}

// Remove implements [session.Builder].
func (b cleaningBuilder) Remove(ctx context.Context, id event.ConversationID) error {
	return errors.Join(b.s.scopes.Drop(ctx, id.Hex()), b.Builder.Remove(ctx, id))
}
