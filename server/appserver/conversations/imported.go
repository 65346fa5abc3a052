package conversations

import (
	"context"
	"errors"
	"io"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/state"
)

// Bounds of the events in a zip file of a conversation, in bytes: of stored events, and of
// events that are held in memory to be replayed.
const (
	maxUnzipped = 256 << 20
	maxReplayed = 16 << 20
)

// Import keeps a recorded conversation as a new one of an owner, which can be read, not
// continued. Without a title it has its own, or one of its first message.
func (s *Service) Import(ctx context.Context, owner identity.Tenant, title string, r *io.SectionReader) (*Info, error) {
	title, err := s.titled(title, r)
	if err != nil {
		return nil, err
	}
	id, events := event.NewConversationID(), s.o.Sessions.Store()
	in, err := openhands.Unzipped(r, maxUnzipped)
	if err != nil {
		return nil, err
	}
	if _, err := openhands.ImportTrajectory(ctx, events, id, eventstream.Meta{Owner: string(owner), Title: title}, in); err != nil {
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
	own, err := openhands.Title(r)
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
