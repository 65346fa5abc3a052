package conversations

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/appserver/store"
)

// mostRecorded is how many conversations of a sandbox there may be when an Agent Server
// reports another one.
const mostRecorded = 1000

// maxReportedTitle bounds a title that others have written, in characters.
const maxReportedTitle = 256

// boundedTitle is a title of others, cut to [maxReportedTitle].
func boundedTitle(title string) string {
	r := []rune(strings.TrimSpace(title))
	return string(r[:min(len(r), maxReportedTitle)])
}

// ErrNotOfSandbox refuses a report about a conversation outside the sandbox; whether there
// is one is not said.
var ErrNotOfSandbox = fault.New(fault.Auth, "the conversation is not one of the sandbox")

// Record keeps a conversation that an Agent Server inside a sandbox reports. It is the
// sandbox's owner's, and can be read, not continued. Of the report only the title is
// taken, if there is none yet. A conversation that this server runs itself stays
// unchanged. One outside the sandbox is [ErrNotOfSandbox].
func (s *Service) Record(ctx context.Context, b store.Sandbox, id event.ConversationID, title string) error {
	title = boundedTitle(title)
	events := s.o.Sessions.Store()
	info, err := events.Info(ctx, id)
	switch {
	case err == nil:
		if err := s.inSandbox(ctx, b, id); err != nil {
			return err
		}
		if own(info) || info.Meta.Title != "" || title == "" {
			return nil
		}
		info.Meta.Title = title
		return events.SetMeta(ctx, id, info.Meta)
	case !fault.Is(err, fault.NotFound):
		return err
	}
	has, err := s.o.Store.InSandbox(ctx, b.ID)
	if err != nil {
		return err
	}
	if len(has) >= mostRecorded {
		return fault.New(fault.RateLimit, "the sandbox has as many conversations as it may report")
	}
	err = events.Create(ctx, id, eventstream.Meta{Owner: b.Owner, Title: title})
	if fault.Is(err, fault.Conflict) { // another request was faster
		return s.inSandbox(ctx, b, id)
	}
	if err != nil {
		return err
	}
	return s.o.Store.SaveConversation(ctx, store.Conversation{ID: id, Owner: b.Owner, Sandbox: b.ID, AgentType: "default", Created: time.Now()})
}

// RecordEvents keeps events of a conversation that was reported, each once by its id.
// Events that would change the conversation's cost or its description are left out,
// and so are parts of answers. Events of a conversation that this server runs itself
// are here already; one that is not is a Conflict.
func (s *Service) RecordEvents(ctx context.Context, b store.Sandbox, id event.ConversationID, reported []json.RawMessage) error {
	if err := s.inSandbox(ctx, b, id); err != nil {
		return err
	}
	events := s.o.Sessions.Store()
	info, err := events.Info(ctx, id)
	if err != nil {
		return err
	}
	for {
		fresh, err := unknown(ctx, events, id, reported)
		if err != nil || len(fresh) == 0 {
			return err
		}
		if own(info) {
			return fault.New(fault.Conflict, "this server runs the conversation itself, and has no such event")
		}
		if _, err = events.Append(ctx, id, fresh...); !fault.Is(err, fault.Conflict) {
			return err
		}
		if ctx.Err() != nil { // else another request stored one of them meanwhile
			return context.Cause(ctx)
		}
	}
}

// unknown decodes the events that are kept and are not stored yet.
func unknown(ctx context.Context, events eventstream.Stream, id event.ConversationID, reported []json.RawMessage) (out []event.Event, err error) {
	seen := map[event.ID]bool{}
	for _, raw := range reported {
		ev, err := event.Unmarshal(raw)
		if err != nil {
			return nil, err
		}
		if seen[ev.Meta().ID] || !kept(ev) {
			continue
		}
		seen[ev.Meta().ID] = true
		_, err = events.Get(ctx, id, ev.Meta().ID)
		switch {
		case fault.Is(err, fault.NotFound):
			out = append(out, ev)
		case err != nil:
			return nil, err
		}
	}
	return out, nil
}

// kept reports whether an event is stored that an Agent Server reports.
func kept(ev event.Event) bool {
	switch ev := ev.(type) {
	case *event.StreamingDeltaEvent:
		return false
	case *event.ConversationStateUpdateEvent:
		return ev.Key == "execution_status"
	}
	return true
}

// own reports whether this server made a conversation, and can run it. The description
// comes from the store's Info: lists leave out the fields that tell.
func own(info eventstream.Info) bool { return len(info.Meta.Extra) > 0 }

// isOwn is own of a conversation that was found in a list.
func (s *Service) isOwn(ctx context.Context, id event.ConversationID) (bool, error) {
	info, err := s.o.Sessions.Store().Info(ctx, id)
	return own(info), err
}

// unlessRecorded returns err, of loading a conversation; for one that this server did not
// make it is a Conflict, as it is in no state to go on.
func (s *Service) unlessRecorded(ctx context.Context, id event.ConversationID, err error) error {
	if !fault.Is(err, fault.Unsupported) {
		return err
	}
	info, unknown := s.o.Sessions.Store().Info(ctx, id)
	if unknown != nil || own(info) {
		return err
	}
	return fault.New(fault.Conflict, "the conversation was recorded elsewhere or imported, and can only be read").Hint("start a new one")
}

// patchRecorded changes the title and the tags of a conversation that this server did not make.
func (s *Service) patchRecorded(ctx context.Context, info eventstream.Info, ch Change) error {
	if ch.Title != nil {
		info.Meta.Title = *ch.Title
	}
	if ch.Tags != nil {
		info.Meta.Tags = *ch.Tags
	}
	return s.o.Sessions.Store().SetMeta(ctx, info.ID, info.Meta)
}

// inSandbox returns ErrNotOfSandbox for a conversation that is not in a sandbox.
func (s *Service) inSandbox(ctx context.Context, b store.Sandbox, id event.ConversationID) error {
	found, err := s.o.Store.Conversations(ctx, b.Owner, id)
	if err == nil && found[id].Sandbox != b.ID {
		err = ErrNotOfSandbox
	}
	if err != nil {
		return err
	}
	_, err = s.Scope(identity.Tenant(b.Owner)).Events(ctx, id)
	if fault.Is(err, fault.NotFound) {
		err = ErrNotOfSandbox
	}
	return err
}
