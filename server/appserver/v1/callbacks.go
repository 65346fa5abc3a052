package v1

import (
	"net/http"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/rest"
)

// The contract has event callbacks (EventCallback, EventCallbackResult), but no routes that
// show them.

type eventCallback struct {
	ID           event.ConversationID         `json:"id"`
	Conversation event.ConversationID         `json:"conversation_id"`
	Processor    conversations.ShownProcessor `json:"processor"` // other parts may be secret
	Status       string                       `json:"status"`
	Created      string                       `json:"created_at"`
	Updated      string                       `json:"updated_at"`
}

type eventCallbackResult struct {
	ID           string               `json:"id"`
	Status       string               `json:"status"`
	Callback     event.ConversationID `json:"event_callback_id"`
	Event        event.ID             `json:"event_id"`
	Conversation event.ConversationID `json:"conversation_id"`
	Detail       *string              `json:"detail"`
	Created      string               `json:"created_at"`
}

func (s *Service) callbacks(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	all, err := s.o.Conversations.Callbacks(r.Context(), owner(r), id)
	if err != nil {
		return nil, missing(err, "Conversation")
	}
	out := make([]eventCallback, len(all))
	for i := range all {
		c := &all[i]
		out[i] = eventCallback{c.ID, c.Conversation, conversations.ShownProcessor{Kind: c.Kind}, string(c.Status), rest.Stamp(c.Created), rest.Stamp(c.Updated)}
	}
	return out, nil
}

func (s *Service) callbackResults(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	q := rest.QueryOf(r)
	pageID, limit := q.String("page_id", ""), q.Limit("limit", 100, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	all, next, err := s.o.Conversations.CallbackResults(r.Context(), owner(r), id, pageID, limit)
	if err != nil {
		return nil, missing(err, "Conversation")
	}
	out := make([]eventCallbackResult, len(all))
	for i := range all {
		c := &all[i]
		status := "ERROR"
		if c.OK {
			status = "SUCCESS"
		}
		out[i] = eventCallbackResult{c.ID, status, c.Callback, c.Event, c.Conversation, optional.Of(c.Detail), rest.Stamp(c.Created)}
	}
	return rest.PageOf(out, next), nil
}
