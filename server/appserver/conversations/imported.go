package conversations

import (
	"context"
	"errors"
	"io"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// Trajectories read recordings: a trajectory of events, or a zip file as a
// conversation's download is. Anything else is Invalid, with the number of the event.
type Trajectories interface {
	// Import stores the events of r in a new conversation, whole or not at all.
	Import(ctx context.Context, s eventstream.Stream, id event.ConversationID, meta eventstream.Meta, r *io.SectionReader) error
	// Title returns the title that r itself has, "" for none.
	Title(r *io.SectionReader) (string, error)
	// Read decodes the events of r, to replay them.
	Read(r *io.SectionReader) ([]event.Event, error)
}

// Import keeps a recorded conversation as a new one of an owner, which can be read, not
// continued. Without a title it has its own, or one of its first message.
func (s *Service) Import(ctx context.Context, owner identity.Tenant, title string, r *io.SectionReader) (*Info, error) {
	title, err := s.titled(title, r)
	if err != nil {
		return nil, err
	}
	id, events := event.NewConversationID(), s.o.Sessions.Store()
	if err := s.o.Trajectories.Import(ctx, events, id, eventstream.Meta{Owner: string(owner), Title: title}, r); err != nil {
		return nil, err
	}
	err = s.settle(ctx, events, id)
	if err == nil && title == "" {
		err = nameByMessage(ctx, events, id)
	}
	if err != nil {
		return nil, errors.Join(err, events.Delete(context.WithoutCancel(ctx), id))
	}
	return s.One(ctx, owner, id)
}

// titled returns a title, or for none the recording's.
func (s *Service) titled(title string, r *io.SectionReader) (string, error) {
	if title != "" {
		return title, nil
	}
	own, err := s.o.Trajectories.Title(r)
	return boundedTitle(own), err
}

// nameByMessage gives a conversation the title of its first message of a user, if it has one.
func nameByMessage(ctx context.Context, events eventstream.Stream, id event.ConversationID) error {
	for r, err := range events.Read(ctx, id, 1) {
		if err != nil {
			return err
		}
		if r.Source != event.SourceUser {
			continue
		}
		ev, err := r.Event()
		if err != nil {
			return err
		}
		title := titleBy(ev)
		if title == "" {
			continue
		}
		info, err := events.Info(ctx, id)
		if err != nil {
			return err
		}
		info.Meta.Title = title
		return events.SetMeta(ctx, id, info.Meta)
	}
	return nil
}

// titleBy returns the title of a conversation whose first message is ev, "" if it is no
// message of a user or has no text.
func titleBy(ev event.Event) string {
	m, ok := ev.(*event.MessageEvent)
	if !ok || m.Source != event.SourceUser {
		return ""
	}
	return session.TitleFrom(event.JoinText(m.LLMMessage.Content))
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
