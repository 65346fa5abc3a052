package v1

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/server/view"
)

// reads finds the owner of a conversation whose events a route reads, and the paths in them
// that its callers must not see.
type reads func(r *http.Request, id event.ConversationID) (identity.Tenant, hostPaths, error)

// ownEvents are the caller's own.
func ownEvents(r *http.Request, _ event.ConversationID) (identity.Tenant, hostPaths, error) {
	return owner(r), nil, nil
}

// sharedEvents are the events of public conversations.
func (s *Service) sharedEvents(r *http.Request, id event.ConversationID) (identity.Tenant, hostPaths, error) {
	info, err := s.o.Conversations.Public(r.Context(), id)
	if err != nil {
		return "", nil, missing(err, "Conversation")
	}
	return identity.Tenant(info.Meta.Owner), s.paths.with(info.Meta.WorkingDir), nil
}

// conversationOf returns the conversation of a request about events.
func conversationOf(r *http.Request, q *rest.Query) (event.ConversationID, error) {
	if r.PathValue("conversation_id") != "" {
		return pathID(r)
	}
	for _, name := range []string{"conversation_id__eq", "conversation_id"} {
		if q.Has(name) {
			return parseID(q.String(name, ""), "query", name)
		}
	}
	return "", schema.Missing("query", "conversation_id")
}

// events returns the store of the conversation that a request names, and its hidden paths.
func (s *Service) events(r *http.Request, q *rest.Query, whose reads) (eventstream.Stream, event.ConversationID, hostPaths, error) {
	id, err := conversationOf(r, q)
	if err != nil {
		return nil, "", nil, err
	}
	by, hidden, err := whose(r, id)
	if err != nil {
		return nil, "", nil, err
	}
	st, err := s.o.Conversations.Scope(by).Events(r.Context(), id)
	return st, id, hidden, missing(err, "Conversation")
}

// eventQuery reads the filters of a list of events.
func eventQuery(q *rest.Query) (out eventstream.Query) {
	out.Text = q.String("text", "")
	if kind := q.String("kind__eq", ""); kind != "" {
		out.Kinds = []string{kind}
	}
	if t, ok := q.Time("timestamp__gte", time.Local); ok {
		out.From = event.At(t)
	}
	if t, ok := q.Time("timestamp__lt", time.Local); ok {
		out.Before = event.At(t)
	}
	return out
}

func (s *Service) searchEvents(r *http.Request, whose reads) (any, error) {
	q := rest.QueryOf(r)
	eq := eventQuery(q)
	own := q.Bool(view.OwnKinds, false)
	eq.PageID, eq.Limit = event.ID(q.String("page_id", "")), q.Limit("limit", 100, 100)
	if q.Enum("sort_order", "TIMESTAMP", "TIMESTAMP", "TIMESTAMP_DESC") == "TIMESTAMP_DESC" {
		eq.Order = eventstream.Descending
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	st, id, hidden, err := s.events(r, q, whose)
	if err != nil {
		return nil, err
	}
	if eq.PageID != "" { // the store would begin anew
		if _, err := st.Get(r.Context(), id, eq.PageID); err != nil {
			return nil, missing(err, "Event")
		}
	}
	found, err := st.Search(r.Context(), id, eq)
	if err != nil {
		return nil, missing(err, "Conversation")
	}
	items := make([]json.RawMessage, len(found.Records))
	for i := range found.Records {
		items[i] = hidden.hide(view.Event(found.Records[i].JSON, own))
	}
	return rest.PageOf(items, string(found.NextID)), nil
}

// placeEvent tells where an event is among the stored ones, from 1 on, and the parts of them that
// were not undone.
func (s *Service) placeEvent(r *http.Request, whose reads) (any, error) {
	q := rest.QueryOf(r)
	id, err := conversationOf(r, q)
	if err != nil {
		return nil, err
	}
	if !q.Has("event_id") {
		return nil, schema.Missing("query", "event_id")
	}
	by, _, err := whose(r, id)
	if err != nil {
		return nil, err
	}
	place, err := s.o.Conversations.Scope(by).EventPlace(r.Context(), id, event.ID(q.String("event_id", "")))
	if err != nil {
		return nil, missing(err, "Event")
	}
	active := make([][2]eventstream.Seq, len(place.Active))
	for i, one := range place.Active {
		active[i] = [2]eventstream.Seq{one.First, one.Last}
	}
	return struct {
		At     eventstream.Seq      `json:"at"`
		Active [][2]eventstream.Seq `json:"active"`
	}{place.At, active}, nil
}

func (s *Service) countEvents(r *http.Request, whose reads) (any, error) {
	q := rest.QueryOf(r)
	eq := eventQuery(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	st, id, _, err := s.events(r, q, whose)
	if err != nil {
		return nil, err
	}
	n, err := st.Count(r.Context(), id, eq)
	return n, missing(err, "Conversation")
}

func (s *Service) batchEvents(r *http.Request, whose reads) (any, error) {
	q := rest.QueryOf(r)
	asked, own := q.All("id"), q.Bool(view.OwnKinds, false)
	if err := q.Err(); err != nil {
		return nil, err
	}
	if err := tooMany(len(asked), "id"); err != nil {
		return nil, err
	}
	st, id, hidden, err := s.events(r, q, whose)
	if err != nil {
		return nil, err
	}
	out := make([]json.RawMessage, len(asked))
	for i, one := range asked {
		rec, err := st.Get(r.Context(), id, event.ID(one))
		switch {
		case fault.Is(err, fault.NotFound):
			out[i] = json.RawMessage("null")
		case err != nil:
			return nil, err
		default:
			out[i] = hidden.hide(view.Event(rec.JSON, own))
		}
	}
	return out, nil
}

func (s *Service) sharedEvent(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	own := q.Bool(view.OwnKinds, false)
	if err := q.Err(); err != nil {
		return err
	}
	st, id, hidden, err := s.events(r, q, s.sharedEvents)
	if err != nil {
		return err
	}
	rec, err := st.Get(r.Context(), id, event.ID(r.PathValue("event_id")))
	if err != nil {
		return missing(err, "Event")
	}
	return rest.Bytes(w, http.StatusOK, hidden.hide(view.Event(rec.JSON, own)))
}

// sharedConversations describes public conversations, without keys or addresses.
func (s *Service) sharedConversations(r *http.Request) (any, error) {
	asked := ids(rest.QueryOf(r), "ids")
	if err := tooMany(len(asked), "ids"); err != nil {
		return nil, err
	}
	out := make([]*appConversation, len(asked))
	for i, id := range asked {
		info, err := s.o.Conversations.Public(r.Context(), id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		shown := s.show(r, info)
		shown.SessionKey, shown.URL, shown.Directory = nil, nil, nil
		out[i] = &shown
	}
	return out, nil
}
