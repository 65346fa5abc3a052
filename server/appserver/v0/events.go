package v0

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/server/v0event"
	"github.com/deft-dev/deft/session"
)

// filterForm describes the body of a search for events (EventFilter).
var filterForm = &schema.Object{Name: "EventFilter", Extra: schema.Forbid, Fields: []schema.Field{
	{Name: "exclude_hidden", Type: schema.Bool{}, Default: false},
	{Name: "query", Type: schema.Opt(schema.String{})},
	{Name: "include_types", Type: schema.Opt(schema.List{Of: schema.String{}})},
	{Name: "exclude_types", Type: schema.Opt(schema.List{Of: schema.String{}})},
	{Name: "source", Type: schema.Opt(schema.String{})},
	{Name: "start_date", Type: schema.Opt(schema.String{})},
	{Name: "end_date", Type: schema.Opt(schema.String{})},
}}

// mostEvents bounds a page of events.
const mostEvents = 100

// stream returns the store of a conversation's events, nil for one that is being started.
func (s *Service) stream(r *http.Request) (eventstream.Stream, event.ConversationID, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, "", err
	}
	info, _, err := s.find(r, id)
	if err != nil || info == nil {
		return nil, id, err
	}
	st, err := s.o.Conversations.Scope(owner(r)).Events(r.Context(), id)
	return st, id, err
}

// events answers with one page of events.
func (s *Service) events(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	const least, most = -1 << 62, 1 << 62
	page := v0event.Query{
		Start: int64(q.Int("start_id", 0, least, most)), End: int64(q.Int("end_id", -1, least, most)),
		Reverse: q.Bool("reverse", false), Limit: q.Int("limit", 20, least, most),
	}
	if err := q.Err(); err != nil {
		return err
	}
	if page.Limit < 1 || page.Limit > mostEvents {
		return rest.Fail(http.StatusBadRequest, "Invalid limit")
	}
	if err := rest.ReadOptional(r, filterForm, &page.Filter); err != nil {
		return err
	}
	st, id, err := s.stream(r)
	if err != nil {
		return err
	}
	found, more := []*v0event.Event{}, false
	if st != nil {
		some, left, err := v0event.Page(r.Context(), st, id, page)
		if err != nil {
			return err
		}
		found, more = append(found, some...), left
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"events": found, "has_more": more})
}

// trajectory answers with all events that are not hidden, without screenshots.
func (s *Service) trajectory(w http.ResponseWriter, r *http.Request) error {
	st, id, err := s.stream(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	before := `{"trajectory":[`
	if st != nil {
		err = v0event.All(r.Context(), st, id, func(e *v0event.Event) error {
			if e.Hidden() {
				return nil
			}
			if _, has := e.Extras["screenshot"]; has {
				e.Extras["screenshot"] = ""
			}
			raw, err := json.Marshal(e)
			if err != nil {
				return err
			}
			_, err = w.Write(append([]byte(before), raw...))
			before = ","
			return err
		})
	}
	end := "]}"
	if before != "," {
		if err != nil {
			return err // nothing was sent
		}
		end = before + end
	}
	if err == nil {
		_, err = w.Write([]byte(end))
	}
	if err != nil {
		return rest.ErrBroken
	}
	return nil
}

// addEvent carries out a client's event.
func (s *Service) addEvent(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	raw, err := rest.Raw(r)
	if err == nil {
		err = s.act(r.Context(), owner(r), id, raw)
	}
	if err != nil {
		return err
	}
	return rest.OK(w)
}

// message returns the content of a message of a user. Invalid for an empty one.
func message(text string, images []string) ([]event.Content, error) {
	raw, err := json.Marshal(map[string]any{"action": "message", "args": map[string]any{"content": text, "image_urls": images}})
	if err != nil {
		return nil, err
	}
	req, err := v0event.Parse(raw)
	return req.Message, err
}

// send sends a message, which waits while the conversation is being started.
func (s *Service) send(ctx context.Context, who identity.Tenant, id event.ConversationID, content []event.Content) error {
	_, _, err := s.o.Conversations.AddPending(ctx, who, string(id), session.Message{Role: event.RoleUser, Content: content, Run: true})
	return err
}

// rejected is the text for an agent about an action that its user does not want.
const rejected = "User rejected the action."

// act carries out a client's event.
func (s *Service) act(ctx context.Context, who identity.Tenant, id event.ConversationID, raw []byte) error {
	req, err := v0event.Parse(raw)
	if err != nil {
		return err
	}
	if req.Message != nil {
		return s.send(ctx, who, id, req.Message)
	}
	if req.State == "" {
		_, _, err := s.findFor(ctx, string(who), id)
		return err
	}
	if req.State == v0event.Pause || req.State == v0event.Stop { // a stopped sandbox stays so
		c, err := s.o.Conversations.Scope(who).Get(ctx, id)
		switch {
		case err != nil:
			return err
		case req.State == v0event.Pause:
			return c.Pause(ctx)
		}
		return c.Interrupt(ctx)
	}
	c, err := s.o.Conversations.Open(ctx, who, id)
	if err != nil {
		return err
	}
	switch req.State {
	case v0event.Confirm:
		err = c.Confirmation().Respond(ctx, true, "")
	case v0event.Reject:
		err = c.Confirmation().Respond(ctx, false, rejected)
	default:
		err = c.Run(ctx)
	}
	if errors.Is(err, session.ErrRunning) {
		return nil
	}
	return err
}
