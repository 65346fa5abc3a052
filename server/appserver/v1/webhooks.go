package v1

import (
	"encoding/json"
	"net/http"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// maxReported bounds the body of a report in bytes, mostReported its events.
const (
	maxReported  = 8 << 20
	mostReported = 1000
)

// webhooks are called by Agent Servers inside sandboxes. The session key says which sandbox
// it is, and nothing in a body does.
func (s *Service) webhooks() []rest.Route {
	r := func(path string, h rest.Valued) rest.Route {
		return rest.Route{Method: "POST", Path: "/api/v1/webhooks" + path, Tag: "Webhooks", Limit: maxReported, Scope: rest.Inside, Handle: rest.Value(h)}
	}
	return []rest.Route{
		r("/conversations", s.reportedConversation),
		r("/events/{conversation_id}", s.reportedEvents),
		{Method: "GET", Path: "/api/v1/webhooks/secrets", Tag: "Webhooks", Limit: rest.NoBody, Scope: rest.Public, Handle: rest.Value(unsigned)},
	}
}

// unsigned refuses every access token: this server signs none. Sandboxes look up secrets
// with their session keys.
func unsigned(*http.Request) (any, error) {
	return nil, rest.Fail(http.StatusUnauthorized, "Unauthorized")
}

// reporter returns the sandbox whose session key a request has.
func (s *Service) reporter(r *http.Request) (store.Sandbox, error) {
	caller := identity.CallerOf(r.Context())
	return s.o.Sandboxes.Get(r.Context(), caller.Tenant(), caller.Sandbox)
}

// reportedConversation keeps a conversation of an Agent Server. Of its description (an
// agent of any kind, costs, paths) all but the id and the title is ignored on purpose: the
// program that sends it may be the model's.
func (s *Service) reportedConversation(r *http.Request) (any, error) {
	b, err := s.reporter(r)
	if err != nil {
		return nil, err
	}
	v, err := rest.RequiredDocument(r)
	if err != nil {
		return nil, err
	}
	doc, ok := v.(*schema.Map)
	if !ok {
		return nil, schema.Invalid("Input should be a valid dictionary or object to extract fields from", nil, "body")
	}
	text, _ := doc.Get("id").(string) // checked as an id
	id, err := parseID(text, "body", "id")
	if err != nil {
		return nil, err
	}
	title, _ := doc.Get("title").(string) // null for none
	return rest.Done, s.o.Conversations.Record(r.Context(), b, id, title)
}

// reportedEvents keeps events of an Agent Server, each once.
func (s *Service) reportedEvents(r *http.Request) (any, error) {
	b, err := s.reporter(r)
	if err != nil {
		return nil, err
	}
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	raw, err := rest.Raw(r)
	if err != nil {
		return nil, err
	}
	var reported []json.RawMessage
	if err := json.Unmarshal(raw, &reported); err != nil || reported == nil {
		return nil, schema.Invalid("Input should be a valid list", nil, "body")
	}
	if len(reported) > mostReported {
		return nil, schema.Invalid("Too many events. Send them in several requests", len(reported), "body")
	}
	return rest.Done, s.o.Conversations.RecordEvents(r.Context(), b, id, reported)
}
