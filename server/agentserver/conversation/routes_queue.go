package conversation

import (
	"context"
	"net/http"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/server/agentserver/conversation/form"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

// queuedRequest is the body of POST …/queue and PUT …/queue/{message_id}.
type queuedRequest struct {
	Text string `json:"text"`
}

func (s *Service) getQueue(r *http.Request) (any, error) {
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"messages": c.Queue().Messages()}, nil
}

func (s *Service) postQueue(r *http.Request) (any, error) {
	var req queuedRequest
	if err := read(r, form.Queued, &req); err != nil {
		return nil, err
	}
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	return c.Queue().Add(r.Context(), req.Text)
}

func (s *Service) putQueue(r *http.Request) (any, error) {
	var req queuedRequest
	if err := read(r, form.Queued, &req); err != nil {
		return nil, err
	}
	return s.queued(r, func(ctx context.Context, q session.Queue, id event.ID) error { return q.Edit(ctx, id, req.Text) })
}

func (s *Service) deleteQueue(r *http.Request) (any, error) {
	return s.queued(r, func(ctx context.Context, q session.Queue, id event.ID) error { return q.Remove(ctx, id) })
}

func (s *Service) sendQueued(r *http.Request) (any, error) {
	return s.queued(r, func(ctx context.Context, q session.Queue, id event.ID) error { return q.Send(ctx, id) })
}

// queued changes the message that a path names.
func (s *Service) queued(r *http.Request, change func(context.Context, session.Queue, event.ID) error) (any, error) {
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	return rest.Done, change(r.Context(), c.Queue(), event.ID(r.PathValue("message_id")))
}
