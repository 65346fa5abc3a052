package agentserver

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/agentserver/conversation"
	"github.com/deft-dev/deft/internal/agentserver/socket"
)

// Followed returns the function by which the sockets find conversations.
func Followed(m *conversation.Manager) func(context.Context, event.ConversationID) (socket.Conversation, error) {
	return func(ctx context.Context, id event.ConversationID) (socket.Conversation, error) {
		c, err := m.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		return followed{c}, nil
	}
}

// followed is a conversation as the sockets see it.
type followed struct{ *conversation.Conversation }

// Watch implements [socket.Conversation].
func (f followed) Watch(tell func(socket.Transient)) (cancel func()) {
	return f.Conversation.Watch(func(t conversation.Transient) { tell(transient(t)) })
}

// Send implements [socket.Conversation].
func (f followed) Send(ctx context.Context, m event.Message) error {
	return f.Conversation.Send(ctx, conversation.Message{Role: m.Role, Content: m.Content, Run: true})
}

func transient(t conversation.Transient) socket.Transient {
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
