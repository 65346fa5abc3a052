// Package conversation has the REST operations on conversations and their
// events, over the session layer: it reads requests, words errors as the
// reference does, and writes answers.
//
// # Usage
//
//	s := conversation.New(conversation.Options{Sessions: manager, Settings: settings})
//	routes := s.Routes()
//	c, made, err := s.Start(ctx, request) // for the gateway
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. Errors are those that package rest
// answers with.
package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/conversation/form"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/spec"
)

const tag = "Conversations"

// Options say what a [Service] works with.
type Options struct {
	Sessions *session.Scope
	// Settings make the agents that requests ask for.
	Settings Settings
	// Sealed opens the secrets that clients send sealed; nil for none.
	Sealed schema.Keys
	// CheckClientTool describes the mistake in a client's tool.
	CheckClientTool func(raw json.RawMessage) error
	// Plugins loads the plugins of requests.
	Plugins plugin.Loader
	// Containers are the conversations' containers; nil where there are none.
	Containers *Containers
	// NoBrowser says that no agent gets the browser tools.
	NoBrowser bool
	// Keys are the keys that clients may show; nil for none.
	Keys func() []string
}

// Settings are the parts of [settings.Service] that requests need.
type Settings interface {
	Launch(ctx context.Context, src launch.Source, rt launch.Runtime) (*settings.Launched, error)
	OpenLLM(ctx context.Context, doc any, keys schema.Keys) (*spec.LLM, error)
}

// Service has the operations on conversations and their events.
type Service struct{ o Options }

// New returns a service.
func New(o Options) *Service { return &Service{o} }

// Routes returns the operations on conversations (docs/openhands/sdk-wire.md
// section 4).
func (s *Service) Routes() []rest.Route {
	const one = "/api/conversations/{conversation_id}"
	r := func(method, path string, h rest.Handler) rest.Route {
		return rest.Route{Method: method, Path: path, Tag: tag, Scope: rest.Sandbox, Handle: h}
	}
	routes := []rest.Route{
		r("POST", "/api/conversations", s.postConversation),
		r("GET", "/api/conversations", s.getBatch),
		r("GET", "/api/conversations/search", s.getSearch),
		r("GET", "/api/conversations/count", rest.Value(s.getCount)),
		r("GET", one, s.getConversation),
		r("PATCH", one, simpleBody(s, form.Patch, patch)),
		r("DELETE", one, rest.Value(s.deleteConversation)),
		r("GET", one+"/agent_final_response", rest.Value(s.getFinalResponse)),
		r("POST", one+"/run", rest.Value(s.postRun)),
		r("POST", one+"/pause", s.simple(func(c *session.Conversation, r *http.Request) error { return c.Pause(r.Context()) })),
		r("POST", one+"/interrupt", s.simple(func(c *session.Conversation, r *http.Request) error { return c.Interrupt(r.Context()) })),
		r("POST", one+"/secrets", simpleBody(s, form.Secrets, s.setSecrets)),
		r("POST", one+"/confirmation_policy", simpleBody(s, form.Policy, setPolicy)),
		hidden(r("GET", one+"/questions", rest.Value(s.getQuestions))),
		hidden(r("GET", one+"/limits", rest.Value(s.getLimits))),
		hidden(r("POST", one+"/limits", simpleBody(s, form.Limits, setLimits))),
		hidden(r("GET", one+"/hooks", rest.Value(s.getHooks))),
		hidden(r("POST", one+"/hooks", simpleBody(s, form.HooksAnswer, answerHooks))),
		hidden(r("POST", one+"/answers", simpleBody(s, form.Answers, answer))),
		hidden(r("POST", one+"/confirm", simpleBody(s, form.Confirm, setConfirm))), // the reference has no presets
		r("POST", one+"/security_analyzer", simpleBody(s, form.Analyzer, setAnalyzer)),
		r("POST", one+"/switch_profile", s.simple(postSwitchProfile)),
		r("POST", one+"/switch_llm", s.simple(s.postSwitchLLM)),
		r("POST", one+"/switch_acp_model", s.simple(postSwitchACP)),
		r("POST", one+"/load_plugin", s.simple(s.postLoadPlugin)),
		r("POST", one+"/ask_agent", rest.Value(s.postAsk)),
		hidden(r("POST", one+"/generate_title", rest.Value(s.postTitle))), // the reference has none
		r("POST", one+"/condense", s.simple(func(c *session.Conversation, r *http.Request) error { return c.Condense(r.Context()) })),
		r("POST", one+"/fork", s.postFork),
		r("POST", one+"/navigate", s.postNavigate),
		r("POST", one+"/goal", simpleBody(s, form.Goal, startGoal)),
		r("POST", one+"/goal/stop", s.simple(func(c *session.Conversation, r *http.Request) error { return c.Goal().Stop(r.Context()) })),
		r("POST", one+"/goal/resume", s.simple(func(c *session.Conversation, r *http.Request) error { return c.Goal().Resume(r.Context()) })),
		hidden(r("GET", one+"/queue", rest.Value(s.getQueue))), // the reference has no queue
		hidden(r("POST", one+"/queue", rest.Created(s.postQueue))),
		hidden(r("PUT", one+"/queue/{message_id}", rest.Value(s.putQueue))),
		hidden(r("DELETE", one+"/queue/{message_id}", rest.Value(s.deleteQueue))),
		hidden(r("POST", one+"/queue/{message_id}/send", rest.Value(s.sendQueued))),
		r("POST", one+"/children", rest.Created(s.postChild)),
		hidden(r("GET", one+"/equipment", rest.Value(s.getEquipment))),
		hidden(r("GET", one+"/prompts", rest.Value(s.getPrompts))),
		r("GET", one+"/runtime", s.getRuntime),
		r("POST", one+"/runtime/reprovision", s.postReprovision),
	}
	if s.o.Containers != nil {
		routes = append(routes, hidden(r("POST", one+"/runtime/credentials", s.postCredentials)), hidden(r("DELETE", one+"/runtime", s.deleteRuntime)))
	}
	return append(routes, s.eventRoutes()...)
}

func hidden(r rest.Route) rest.Route {
	r.Hidden = true
	return r
}

// conversation returns the conversation that a path names.
func (s *Service) conversation(r *http.Request) (*session.Conversation, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	c, err := s.o.Sessions.Get(r.Context(), id)
	return c, unknown(err, id)
}

func pathID(r *http.Request) (event.ConversationID, error) {
	hex, err := rest.PathUUID(r, "conversation_id")
	if err != nil {
		return "", err
	}
	id, _ := event.ParseConversationID(hex) // 32 digits
	return id, nil
}

// read checks the id in the path, then the body, and fills out from the body.
func read(r *http.Request, f *schema.Object, out any) error {
	if _, err := pathID(r); err != nil {
		return err
	}
	return rest.Read(r, f, out)
}

// unknown words the absence of a conversation as the reference does.
func unknown(err error, id event.ConversationID) error {
	if fault.Is(err, fault.NotFound) {
		return rest.Fail(http.StatusNotFound, "Conversation not found: "+string(id))
	}
	return err
}

// simple makes a handler of what answers with success only.
func (s *Service) simple(do func(*session.Conversation, *http.Request) error) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := s.conversation(r)
		if err != nil {
			return err
		}
		if err := do(c, r); err != nil {
			return worded(err)
		}
		return rest.OK(w)
	}
}

// simpleBody is simple for requests with a body, which is checked first.
func simpleBody[T any](s *Service, body *schema.Object, do func(context.Context, *session.Conversation, *T) error) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		req := new(T)
		if err := read(r, body, req); err != nil {
			return err
		}
		return s.simple(func(c *session.Conversation, r *http.Request) error { return do(r.Context(), c, req) })(w, r)
	}
}

// worded gives errors of conversations the reference's statuses.
func worded(err error) error {
	switch {
	case errors.Is(err, session.ErrRunning):
		return rest.Fail(http.StatusConflict, "Conversation already running. Wait for completion or pause first.")
	case errors.Is(err, session.ErrCapacity), errors.Is(err, session.ErrSaved):
		return rest.Fail(http.StatusTooManyRequests, err.Error())
	case errors.Is(err, session.ErrNoGoal), errors.Is(err, session.ErrNoMessages):
		return rest.Fail(http.StatusBadRequest, err.Error())
	}
	return err
}

func (s *Service) postConversation(w http.ResponseWriter, r *http.Request) error {
	sent, err := rest.RequiredDocument(r)
	if err != nil {
		return err
	}
	body, err := form.Start.Check(sent, schema.Reading{}, "body")
	if err != nil {
		return err
	}
	_, named := sent.(*schema.Map).Lookup("observability_span_name") // an object, or Check would have failed
	if err := rest.CheckObservability(r, named); err != nil {
		return err
	}
	req := &StartRequest{}
	if err := schema.Into(body, req); err != nil {
		return err
	}
	c, made, err := s.Start(r.Context(), req)
	if err != nil && !errors.Is(err, session.ErrSaved) {
		return worded(err)
	}
	switch {
	case !made:
		return answerDescribed(w, r, http.StatusOK, c)
	case req.InitialMessage != nil || err != nil:
		return answerDescribed(w, r, http.StatusCreated, c)
	}
	raw, err := c.DescribeNew()
	if err != nil {
		return err
	}
	return rest.Bytes(w, http.StatusCreated, raw)
}

func (s *Service) getConversation(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	q := rest.QueryOf(r)
	q.Bool("include_skills", false) // descriptions never hold them
	if err := q.Err(); err != nil {
		return err
	}
	raw, err := s.o.Sessions.Summary(r.Context(), id)
	if err != nil {
		return unknown(err, id)
	}
	one := []json.RawMessage{raw}
	if err := s.describeContainers(r.Context(), one, []event.ConversationID{id}); err != nil {
		return unknown(err, id)
	}
	return rest.Bytes(w, http.StatusOK, one[0])
}

func (s *Service) getBatch(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	ids := q.All("ids")
	switch {
	case !q.Has("ids"):
		return schema.Missing("query", "ids")
	case len(ids) > 99:
		return schema.Violations{{
			Type: "too_long", Loc: []any{"query", "ids"}, Msg: "List should have at most 99 items after validation",
			Ctx: map[string]any{"field_type": "List", "max_length": 99, "actual_length": len(ids)},
		}}
	}
	out, found := make([]json.RawMessage, len(ids)), make([]event.ConversationID, len(ids))
	for i, text := range ids {
		hex, wrong := schema.ParseUUID(text, "query", "ids", i)
		if wrong != nil {
			return wrong
		}
		id, _ := event.ParseConversationID(hex) // 32 digits
		raw, err := s.o.Sessions.Summary(r.Context(), id)
		switch {
		case fault.Is(err, fault.NotFound):
			raw = json.RawMessage("null")
		case err != nil:
			return err
		}
		out[i], found[i] = raw, id
	}
	if err := s.describeContainers(r.Context(), out, found); err != nil {
		return err
	}
	return rest.Bytes(w, http.StatusOK, list(out))
}

// list joins JSON values to a list.
func list(items []json.RawMessage) []byte {
	size := 2
	for _, it := range items {
		size += len(it) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for i, it := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, it...)
	}
	return append(out, ']')
}

// page is {"items": …, "next_page_id": …} of encoded items.
func page(items []json.RawMessage, next string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"items":`)
	b.Write(list(items))
	b.WriteString(`,"next_page_id":`)
	if next == "" {
		b.WriteString("null}")
		return b.Bytes()
	}
	quoted, _ := json.Marshal(next) // text always encodes
	b.Write(quoted)
	b.WriteByte('}')
	return b.Bytes()
}

var statuses = []string{
	"idle", "running", "paused", "waiting_for_confirmation", "finished", "error", "stuck", "deleting",
}

func (s *Service) getSearch(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	order := q.Enum("sort_order", "CREATED_AT_DESC", "CREATED_AT", "UPDATED_AT", "CREATED_AT_DESC", "UPDATED_AT_DESC")
	lq := eventstream.ListQuery{
		Status: q.Enum("status", "", statuses...), Limit: q.Limit("limit", 100, 100),
		ByUpdated: strings.HasPrefix(order, "UPDATED_AT"), Ascending: !strings.HasSuffix(order, "_DESC"),
	}
	q.Bool("include_skills", false) // as above
	lq.PageID = q.String("page_id", "")
	if id, ok := event.ParseConversationID(lq.PageID); ok {
		lq.PageID = string(id)
	}
	if err := q.Err(); err != nil {
		return err
	}
	p, err := s.o.Sessions.List(r.Context(), lq)
	if err != nil {
		return err
	}
	if err := s.describeContainers(r.Context(), p.Items, p.IDs); err != nil {
		return err
	}
	return rest.Bytes(w, http.StatusOK, page(p.Items, p.NextID))
}

func (s *Service) getCount(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	status := q.Enum("status", "", statuses...)
	if err := q.Err(); err != nil {
		return nil, err
	}
	return s.o.Sessions.Count(r.Context(), eventstream.ListQuery{Status: status})
}

func patch(ctx context.Context, c *session.Conversation, req *struct {
	Title *string            `json:"title"`
	Tags  *map[string]string `json:"tags"`
},
) error {
	if req.Title != nil {
		title := strings.TrimSpace(*req.Title)
		if title == "" {
			return schema.Invalid("title must have 1 to 200 characters that are not all blank", *req.Title, "body", "title")
		}
		req.Title = &title
	}
	return c.Patch(ctx, req.Title, req.Tags)
}

func (s *Service) deleteConversation(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	left, err := s.o.Sessions.Delete(r.Context(), id)
	if err != nil {
		return nil, unknown(err, id)
	}
	done := struct {
		rest.Success
		Left string `json:"left_behind,omitempty"` // the contract has no such field
	}{Success: rest.Success{Success: true}}
	if left != nil {
		done.Left = message(left)
	}
	return done, nil
}

func (s *Service) getFinalResponse(r *http.Request) (any, error) {
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	text, err := c.Assistant().FinalResponse(r.Context())
	return map[string]string{"response": text}, err
}

func (s *Service) postRun(r *http.Request) (any, error) {
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	return rest.Done, worded(c.Run(r.Context()))
}

func (s *Service) postAsk(r *http.Request) (any, error) {
	var req struct {
		Question string `json:"question"`
	}
	if err := read(r, form.Question, &req); err != nil {
		return nil, err
	}
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	text, err := c.Assistant().Ask(r.Context(), req.Question)
	return map[string]string{"response": text}, err
}

func (s *Service) postFork(w http.ResponseWriter, r *http.Request) error {
	var req session.ForkOptions
	if _, err := pathID(r); err != nil {
		return err
	}
	if err := rest.ReadOptional(r, form.Fork, &req); err != nil {
		return err
	}
	req.ID, _ = event.ParseConversationID(string(req.ID)) // checked
	c, err := s.conversation(r)
	if err != nil {
		return err
	}
	f, err := s.o.Sessions.Fork(r.Context(), c, req)
	if err != nil {
		return err
	}
	return answerDescribed(w, r, http.StatusCreated, f)
}

func answerDescribed(w http.ResponseWriter, r *http.Request, status int, c *session.Conversation) error {
	raw, err := c.Describe(r.Context())
	if err != nil {
		return err
	}
	return rest.Bytes(w, status, raw)
}

func (s *Service) postNavigate(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		EventID *event.ID `json:"event_id"`
	}
	if err := read(r, form.Navigate, &req); err != nil {
		return err
	}
	c, err := s.conversation(r)
	if err != nil {
		return err
	}
	to := event.ID("")
	if req.EventID != nil {
		if to = *req.EventID; to == "" {
			return fault.New(fault.NotFound, "Unknown event_id: ")
		}
	}
	if err := c.Branches().Navigate(r.Context(), to); err != nil {
		return err
	}
	return answerDescribed(w, r, http.StatusOK, c)
}
