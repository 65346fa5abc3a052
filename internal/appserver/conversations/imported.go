package conversations

import (
	"context"
	"errors"
	"io"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// Trajectories read what was recorded: a trajectory of events, or a zip file as a
// conversation's download is. What is no such thing is Invalid, with the number of the
// event.
type Trajectories interface {
	// Import stores the events of r in a new conversation, whole or not at all.
	Import(ctx context.Context, s eventstream.Stream, id event.ConversationID, meta eventstream.Meta, r *io.SectionReader) error
	// Read decodes the events of r, to replay them.
	Read(r *io.SectionReader) ([]event.Event, error)
}

// Import keeps a recorded conversation as a new one of an owner, which can be read, not
// continued.
func (s *Service) Import(ctx context.Context, owner session.Principal, title string, r *io.SectionReader) (*Info, error) {
	id, events := event.NewConversationID(), s.o.Sessions.Store()
	if err := s.o.Trajectories.Import(ctx, events, id, eventstream.Meta{Owner: string(owner), Title: title}, r); err != nil {
		return nil, err
	}
	if err := s.settle(ctx, events, id); err != nil {
		return nil, errors.Join(err, events.Delete(context.WithoutCancel(ctx), id))
	}
	return s.One(ctx, owner, id)
}

// settle pauses a conversation that was exported at work: nobody works on it here.
func (s *Service) settle(ctx context.Context, events eventstream.Stream, id event.ConversationID) error {
	info, err := events.Info(ctx, id)
	if err != nil {
		return err
	}
	switch state.Status(info.Status) {
	case state.Running, state.Confirming, state.Deleting:
	default:
		return nil
	}
	paused, err := event.NewStateUpdate(state.KeyStatus, state.Paused)
	if err == nil {
		_, err = events.Append(ctx, id, paused)
	}
	return err
}
