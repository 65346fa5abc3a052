package v1

import (
	"context"
	"net/http"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

// Isolations describe the isolation of conversations.
type Isolations interface {
	// Isolation is the report of a conversation's sandbox. NotFound if none runs.
	Isolation(ctx context.Context, p session.Placement, id event.ConversationID) (sandbox.Report, error)
	// TryIsolation is the report of a new conversation's sandbox: it starts one.
	TryIsolation(ctx context.Context) (sandbox.Report, error)
}

// isolation is the isolation in force; without a report, detail says why there is
// none.
type isolation struct {
	Report *sandbox.Report `json:"report"`
	Detail *string         `json:"detail"`
}

func answerIsolation(rep sandbox.Report, err error) (any, error) {
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Unsupported), fault.Is(err, fault.Unavailable), fault.Is(err, fault.Invalid):
		return isolation{Detail: new(fault.Text(err))}, nil
	case err != nil:
		return nil, err
	}
	if rep.Features == nil {
		rep.Features = []string{}
	}
	return isolation{Report: &rep}, nil
}

// tryIsolation starts a sandbox as new conversations get it, one at a time.
func (s *Service) tryIsolation(r *http.Request) (any, error) {
	s.trying.Lock()
	defer s.trying.Unlock()
	return answerIsolation(s.o.Isolations.TryIsolation(r.Context()))
}

func (s *Service) isolation(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	at, err := s.o.Conversations.Scope(owner(r)).Placement(r.Context(), id)
	if err != nil {
		return nil, missing(err, "Conversation")
	}
	rep, err := s.o.Isolations.Isolation(r.Context(), at, id)
	if fault.Is(err, fault.NotFound) {
		err = fault.New(fault.NotFound, "no sandbox of this conversation runs now: its next command starts one")
	}
	return answerIsolation(rep, err)
}
