package agentserver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/server/agentserver/webhook"
	"github.com/deft-dev/deft/session"
)

// sessionsOf returns the function with which the sockets find conversations.
func sessionsOf(m *session.Scope) func(context.Context, event.ConversationID) (socket.Conversation, error) {
	return func(ctx context.Context, id event.ConversationID) (socket.Conversation, error) {
		c, err := m.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		return socketConversation{c}, nil
	}
}

// socketConversation is a conversation as the sockets see it.
type socketConversation struct{ *session.Conversation }

// Watch implements [socket.Conversation].
func (c socketConversation) Watch(tell func(socket.Transient)) (cancel func()) {
	return c.Conversation.Watch(func(t session.Transient) {
		if t.Output == nil && t.Warning == "" { // the contract has no form for them; see WatchOutput
			tell(transient(t))
		}
	})
}

// WatchOutput implements [socket.Conversation].
func (c socketConversation) WatchOutput(tell func(socket.Output)) (cancel func()) {
	return c.Conversation.WatchOutput(func(o session.Output) { tell(socket.Output(o)) })
}

// Send implements [socket.Conversation].
func (c socketConversation) Send(ctx context.Context, m event.Message) error {
	return c.Conversation.Send(ctx, session.Message{Role: m.Role, Content: m.Content, Run: true})
}

func transient(t session.Transient) socket.Transient {
	out := socket.Transient{After: t.After, Event: t.Event, FullState: t.FullState}
	p := t.Piece
	switch {
	case p == nil:
	case p.Started:
		out.Started = &socket.ItemStarted{Item: p.Item, Attempt: p.Attempt, Anchor: p.Anchor}
	case p.Aborted != "":
		out.Aborted = &socket.ItemAborted{Item: p.Item, Attempt: p.Attempt, Reason: p.Aborted}
	default:
		out.Delta = &socket.Delta{
			Item: p.Item, Attempt: p.Attempt, Order: p.Order, Kind: p.Kind, Content: p.Content, Choice: -1,
		}
	}
	return out
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
