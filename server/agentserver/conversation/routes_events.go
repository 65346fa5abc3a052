package conversation

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/conversation/form"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
)

// eventRoutes are the operations on events (docs/openhands/sdk-wire.md section 4.1). They
// read the stream and do not load the conversation.
func (s *Service) eventRoutes() []rest.Route {
	const events = "/api/conversations/{conversation_id}/events"
	r := func(method, path string, h rest.Handler) rest.Route {
		return rest.Route{Method: method, Path: path, Tag: "Events", Scope: rest.Sandbox, Handle: h}
	}
	return []rest.Route{
		r("GET", events+"/search", s.searchEvents),
		r("GET", events+"/count", rest.Value(s.countEvents)),
		r("GET", events+"/{event_id}", s.getEvent),
		r("GET", events, s.batchEvents),
		r("POST", events, simpleBody(s, form.Message, sendMessage)),
		r("POST", events+"/respond_to_confirmation", simpleBody(s, form.Accepting, respond)),
	}
}

// eventQuery reads the conversation and the filters of search and count. A
// filter that is there and empty is a filter too.
func eventQuery(r *http.Request, q *rest.Query) (id event.ConversationID, out eventstream.Query, err error) {
	if id, err = pathID(r); err != nil {
		return id, out, err
	}
	out = eventstream.Query{Source: event.Source(q.String("source", "")), Body: q.String("body", ""), Text: q.String("text", "")}
	if q.Has("kind") { // an empty one is no event's
		out.Kinds = []string{event.ShortKind(q.String("kind", ""))}
	}
	switch {
	case q.Has("source") && out.Source == "": // nor is an empty source
		out.Kinds = []string{""}
	case q.Has("body") && out.Body == "": // which every message has
		if out.Kinds == nil {
			out.Kinds = []string{kindMessage}
		} else if out.Kinds[0] != kindMessage {
			out.Kinds = []string{""}
		}
	}
	// Events carry local times without a zone; so are those asked for.
	if t, ok := q.Time("timestamp__gte", time.Local); ok {
		out.From = event.At(t)
	}
	if t, ok := q.Time("timestamp__lt", time.Local); ok {
		out.Before = event.At(t)
	}
	return id, out, nil
}

const kindMessage = "MessageEvent"

func (s *Service) searchEvents(w http.ResponseWriter, r *http.Request) error {
	given := rest.QueryOf(r)
	id, q, err := eventQuery(r, given)
	if err != nil {
		return err
	}
	q.PageID, q.Limit = event.ID(given.String("page_id", "")), given.Limit("limit", 100, 100)
	if given.Enum("sort_order", "TIMESTAMP", "TIMESTAMP", "TIMESTAMP_DESC") == "TIMESTAMP_DESC" {
		q.Order = eventstream.Descending
	}
	own := given.Bool(view.OwnKinds, false)
	if err := given.Err(); err != nil {
		return err
	}
	store, err := s.o.Sessions.Events(r.Context(), id)
	if err != nil {
		return unknown(err, id)
	}
	p, err := store.Search(r.Context(), id, q)
	if err != nil {
		return unknown(err, id)
	}
	s.o.Sessions.EventsListed(id)
	items := make([]json.RawMessage, len(p.Records))
	for i := range p.Records {
		items[i] = view.Event(p.Records[i].JSON, own)
	}
	return rest.Bytes(w, http.StatusOK, page(items, string(p.NextID)))
}

func (s *Service) countEvents(r *http.Request) (any, error) {
	given := rest.QueryOf(r)
	id, q, err := eventQuery(r, given)
	if err != nil {
		return nil, err
	}
	if err := given.Err(); err != nil {
		return nil, err
	}
	store, err := s.o.Sessions.Events(r.Context(), id)
	if err != nil {
		return nil, unknown(err, id)
	}
	n, err := store.Count(r.Context(), id, q)
	return n, unknown(err, id)
}

func (s *Service) getEvent(w http.ResponseWriter, r *http.Request) error {
	id, err := s.existing(r)
	if err != nil {
		return err
	}
	given := rest.QueryOf(r)
	own := given.Bool(view.OwnKinds, false)
	if err := given.Err(); err != nil {
		return err
	}
	store, err := s.o.Sessions.Events(r.Context(), id)
	if err != nil {
		return unknown(err, id)
	}
	rec, err := store.Get(r.Context(), id, event.ID(r.PathValue("event_id")))
	if fault.Is(err, fault.NotFound) {
		return rest.Fail(http.StatusNotFound, "Event not found: "+r.PathValue("event_id"))
	}
	if err != nil {
		return err
	}
	return rest.Bytes(w, http.StatusOK, view.Event(rec.JSON, own))
}

// batchEvents takes its ids from a body, as the TypeScript client sends them
// with a GET.
func (s *Service) batchEvents(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	doc, err := rest.RequiredDocument(r)
	if err != nil {
		return err
	}
	if doc, err = schema.Check(schema.List{Of: schema.String{}}, doc, schema.Reading{}, "body"); err != nil {
		return err
	}
	ids, _ := doc.([]any)
	given := rest.QueryOf(r)
	own := given.Bool(view.OwnKinds, false)
	if err := given.Err(); err != nil {
		return err
	}
	if _, err := s.existing(r); err != nil {
		return err
	}
	store, err := s.o.Sessions.Events(r.Context(), id)
	if err != nil {
		return unknown(err, id)
	}
	items := make([]json.RawMessage, len(ids))
	for i, ev := range ids {
		rec, err := store.Get(r.Context(), id, event.ID(ev.(string)))
		switch {
		case fault.Is(err, fault.NotFound):
			items[i] = json.RawMessage("null")
		case err != nil:
			return err
		default:
			items[i] = view.Event(rec.JSON, own)
		}
	}
	return rest.Bytes(w, http.StatusOK, list(items))
}

func sendMessage(ctx context.Context, c *session.Conversation, msg *session.Message) error {
	if v := checkMessage(msg, "body"); v != nil {
		return v
	}
	return c.Send(ctx, *msg)
}

// checkMessage refuses a message, at loc of the request, of anyone but the user.
// The reference fails with 500 there.
func checkMessage(m *session.Message, loc ...any) schema.Violations {
	if m.Role == "" || m.Role == event.RoleUser {
		return nil
	}
	at := append(loc[:len(loc):len(loc)], "role")
	return schema.Invalid("Only user messages are allowed to be sent to the agent.", string(m.Role), at...)
}

func respond(ctx context.Context, c *session.Conversation, req *struct {
	Accept bool   `json:"accept"`
	Reason string `json:"reason"`
},
) error {
	return c.Confirmation().Respond(ctx, req.Accept, req.Reason)
}
