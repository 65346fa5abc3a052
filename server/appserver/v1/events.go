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
)

// reads says how a route of events finds its conversation: from the path or the query,
// and whose it may be.
type reads func(r *http.Request, id event.ConversationID) (identity.Tenant, error)

func ownEvents(r *http.Request, _ event.ConversationID) (identity.Tenant, error) {
	return owner(r), nil
}

// sharedBy finds the owner of a public conversation.
func (s *Service) sharedBy(r *http.Request, id event.ConversationID) (identity.Tenant, error) {
	info, err := s.o.Conversations.Public(r.Context(), id)
	if err != nil {
		return "", missing(err, "Conversation")
	}
	return identity.Tenant(info.Meta.Owner), nil
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

// events returns the store of the conversation that a request names.
func (s *Service) events(r *http.Request, q *rest.Query, whose reads) (eventstream.Stream, event.ConversationID, error) {
	id, err := conversationOf(r, q)
	if err != nil {
		return nil, "", err
	}
	by, err := whose(r, id)
	if err != nil {
		return nil, "", err
	}
	st, err := s.o.Conversations.Scope(by).Events(r.Context(), id)
	return st, id, missing(err, "Conversation")
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
	eq.PageID, eq.Limit = event.ID(q.String("page_id", "")), q.Limit("limit", 100, 100)
	if q.Enum("sort_order", "TIMESTAMP", "TIMESTAMP", "TIMESTAMP_DESC") == "TIMESTAMP_DESC" {
		eq.Order = eventstream.Descending
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	st, id, err := s.events(r, q, whose)
	if err != nil {
		return nil, err
	}
	found, err := st.Search(r.Context(), id, eq)
	if err != nil {
		return nil, missing(err, "Conversation")
	}
	items := make([]json.RawMessage, len(found.Records))
	for i := range found.Records {
		items[i] = found.Records[i].JSON
	}
	return rest.PageOf(items, string(found.NextID)), nil
}

func (s *Service) countEvents(r *http.Request, whose reads) (any, error) {
	q := rest.QueryOf(r)
	eq := eventQuery(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	st, id, err := s.events(r, q, whose)
	if err != nil {
		return nil, err
	}
	n, err := st.Count(r.Context(), id, eq)
	return n, missing(err, "Conversation")
}

func (s *Service) batchEvents(r *http.Request, whose reads) (any, error) {
	q := rest.QueryOf(r)
	asked := q.All("id")
	if err := tooMany(len(asked), "id"); err != nil {
		return nil, err
	}
	st, id, err := s.events(r, q, whose)
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
			out[i] = rec.JSON
		}
	}
	return out, nil
}

func (s *Service) sharedEvent(w http.ResponseWriter, r *http.Request) error {
	st, id, err := s.events(r, rest.QueryOf(r), s.sharedBy)
	if err != nil {
		return err
	}
	rec, err := st.Get(r.Context(), id, event.ID(r.PathValue("event_id")))
	if err != nil {
		return missing(err, "Event")
	}
	return rest.Bytes(w, http.StatusOK, rec.JSON)
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
		shown.SessionKey, shown.URL = nil, nil
		out[i] = &shown
	}
	return out, nil
}
