package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/conversation/form"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
)

const tag = "Conversations"

// Routes returns the operations on conversations (docs/openhands/sdk-wire.md
// section 4).
func (m *Manager) Routes() []rest.Route {
	const one = "/api/conversations/{conversation_id}"
	r := func(method, path string, h rest.Handler) rest.Route {
		return rest.Route{Method: method, Path: path, Tag: tag, Handle: h}
	}
	routes := []rest.Route{
		r("POST", "/api/conversations", m.postConversation),
		r("GET", "/api/conversations", m.getBatch),
		r("GET", "/api/conversations/search", m.getSearch),
		r("GET", "/api/conversations/count", m.getCount),
		r("GET", one, m.getConversation),
		r("PATCH", one, formed(form.Patch, m.patchConversation)),
		r("DELETE", one, m.deleteConversation),
		r("GET", one+"/agent_final_response", m.getFinalResponse),
		r("POST", one+"/run", m.postRun),
		r("POST", one+"/pause", m.simple(func(c *Conversation, r *http.Request) error { return c.Pause(r.Context()) })),
		r("POST", one+"/interrupt", m.simple(func(c *Conversation, r *http.Request) error { return c.Interrupt(r.Context()) })),
		r("POST", one+"/secrets", formed(form.Secrets, m.simple(postSecrets))),
		r("POST", one+"/confirmation_policy", formed(form.Policy, m.simple(postPolicy))),
		r("POST", one+"/security_analyzer", formed(form.Analyzer, m.simple(postAnalyzer))),
		r("POST", one+"/switch_profile", m.simple(postSwitchProfile)),
		r("POST", one+"/switch_llm", m.simple(postSwitchLLM)),
		r("POST", one+"/switch_acp_model", m.simple(postSwitchACP)),
		r("POST", one+"/load_plugin", m.simple(postLoadPlugin)),
		r("POST", one+"/ask_agent", formed(form.Question, m.postAsk)),
		r("POST", one+"/generate_title", m.postTitle),
		r("POST", one+"/condense", m.simple(func(c *Conversation, r *http.Request) error { return c.Condense(r.Context()) })),
		r("POST", one+"/fork", formed(form.Fork, m.postFork)),
		r("POST", one+"/navigate", m.postNavigate),
		r("POST", one+"/goal", formed(form.Goal, m.simple(postGoal))),
		r("POST", one+"/goal/stop", m.simple(func(c *Conversation, r *http.Request) error { return c.StopGoal(r.Context()) })),
		r("POST", one+"/goal/resume", m.simple(postGoalResume)),
		r("POST", one+"/children", formed(form.Child, m.postChild)),
		r("GET", one+"/runtime", m.getRuntime),
		r("POST", one+"/runtime/reprovision", m.getRuntime),
	}
	return append(routes, m.eventRoutes()...)
}

// conversation returns the conversation that a path names.
func (m *Manager) conversation(r *http.Request) (*Conversation, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	c, err := m.Get(r.Context(), id)
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

// formed is a handler of bodies of a form.
func formed(f *schema.Object, h rest.Handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := pathID(r); err != nil {
			return err
		}
		if err := rest.CheckBody(r, f); err != nil {
			return err
		}
		return h(w, r)
	}
}

// unknown words the absence of a conversation as the reference does.
func unknown(err error, id event.ConversationID) error {
	if fault.Is(err, fault.NotFound) {
		return rest.Fail(http.StatusNotFound, "Conversation not found: "+string(id))
	}
	return err
}

// simple makes a handler of what answers with success only.
func (m *Manager) simple(do func(*Conversation, *http.Request) error) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := m.conversation(r)
		if err != nil {
			return err
		}
		if err := do(c, r); err != nil {
			return worded(err)
		}
		return rest.OK(w)
	}
}

// worded gives errors of conversations the reference's statuses.
func worded(err error) error {
	switch {
	case errors.Is(err, errRunning):
		return rest.Fail(http.StatusConflict, "Conversation already running. Wait for completion or pause first.")
	case errors.Is(err, errCapacity), errors.Is(err, errSaved):
		return rest.Fail(http.StatusTooManyRequests, err.Error())
	}
	return err
}

func (m *Manager) postConversation(w http.ResponseWriter, r *http.Request) error {
	var req StartRequest
	raw, err := rest.Raw(r)
	if err != nil {
		return err
	}
	if err := form.Start(raw); err != nil {
		return err
	}
	if err := rest.Body(r, &req); err != nil {
		return err
	}
	c, made, err := m.Create(r.Context(), &req)
	if err != nil && !errors.Is(err, errSaved) {
		return worded(err)
	}
	if made && req.InitialMessage == nil { // it is as it was described when it was stored
		c.mu.Lock()
		raw := c.snapshot
		c.mu.Unlock()
		if raw != nil {
			return rest.Bytes(w, http.StatusCreated, raw)
		}
	}
	if raw, err = c.Describe(r.Context()); err != nil {
		return err
	}
	status := http.StatusOK
	if made {
		status = http.StatusCreated
	}
	return rest.Bytes(w, status, raw)
}

func (m *Manager) getConversation(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	q := rest.QueryOf(r)
	q.Bool("include_skills", false) // descriptions never hold them
	if err := q.Err(); err != nil {
		return err
	}
	raw, err := m.Summary(r.Context(), id)
	if err != nil {
		return unknown(err, id)
	}
	return rest.Bytes(w, http.StatusOK, raw)
}

func (m *Manager) getBatch(w http.ResponseWriter, r *http.Request) error {
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
	out := make([]json.RawMessage, len(ids))
	for i, text := range ids {
		hex, wrong := schema.ParseUUID(text, "query", "ids", i)
		if wrong != nil {
			return wrong
		}
		id, _ := event.ParseConversationID(hex) // 32 digits
		raw, err := m.Summary(r.Context(), id)
		switch {
		case fault.Is(err, fault.NotFound):
			raw = null
		case err != nil:
			return err
		}
		out[i] = raw
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

func (m *Manager) getSearch(w http.ResponseWriter, r *http.Request) error {
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
	p, err := m.List(r.Context(), lq)
	if err != nil {
		return err
	}
	return rest.Bytes(w, http.StatusOK, page(p.Items, p.NextID))
}

func (m *Manager) getCount(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	status := q.Enum("status", "", statuses...)
	if err := q.Err(); err != nil {
		return err
	}
	n, err := m.Count(r.Context(), status)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, n)
}

func (m *Manager) patchConversation(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		Title *string            `json:"title"`
		Tags  *map[string]string `json:"tags"`
	}
	if err := rest.Body(r, &req); err != nil {
		return err
	}
	if req.Title != nil {
		title := strings.TrimSpace(*req.Title)
		if title == "" {
			return schema.Invalid("title must have 1 to 200 characters that are not all blank", *req.Title, "body", "title")
		}
		req.Title = &title
	}
	c, err := m.conversation(r)
	if err != nil {
		return err
	}
	if err := c.Patch(r.Context(), req.Title, req.Tags); err != nil {
		return err
	}
	return rest.OK(w)
}

func (m *Manager) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	if err := m.Delete(r.Context(), id); err != nil {
		return unknown(err, id)
	}
	return rest.OK(w)
}

func (m *Manager) getFinalResponse(w http.ResponseWriter, r *http.Request) error {
	c, err := m.conversation(r)
	if err != nil {
		return err
	}
	text, err := c.FinalResponse(r.Context())
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]string{"response": text})
}

func (m *Manager) postRun(w http.ResponseWriter, r *http.Request) error {
	c, err := m.conversation(r)
	if err != nil {
		return err
	}
	if err := c.Run(r.Context()); err != nil {
		return worded(err)
	}
	return rest.OK(w)
}

func (m *Manager) postAsk(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		Question *string `json:"question"`
	}
	if err := rest.Body(r, &req); err != nil {
		return err
	}
	if req.Question == nil {
		return schema.Missing("body", "question")
	}
	c, err := m.conversation(r)
	if err != nil {
		return err
	}
	text, err := c.Ask(r.Context(), *req.Question)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]string{"response": text})
}

func (m *Manager) postFork(w http.ResponseWriter, r *http.Request) error {
	var req ForkRequest
	if err := rest.OptionalBody(r, &req); err != nil {
		return err
	}
	c, err := m.conversation(r)
	if err != nil {
		return err
	}
	f, err := c.Fork(r.Context(), req)
	if err != nil {
		return err
	}
	return answerDescribed(w, r, http.StatusCreated, f)
}

func answerDescribed(w http.ResponseWriter, r *http.Request, status int, c *Conversation) error {
	raw, err := c.Describe(r.Context())
	if err != nil {
		return err
	}
	return rest.Bytes(w, status, raw)
}

func (m *Manager) postNavigate(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		EventID *event.ID `json:"event_id"`
	}
	if err := rest.Body(r, &req); err != nil {
		return err
	}
	c, err := m.conversation(r)
	if err != nil {
		return err
	}
	to := event.ID("")
	if req.EventID != nil {
		if to = *req.EventID; to == "" {
			return unknownEvent(to)
		}
	}
	if err := c.Navigate(r.Context(), to); err != nil {
		return err
	}
	return answerDescribed(w, r, http.StatusOK, c)
}

func (m *Manager) getRuntime(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ok, err := m.Exists(r.Context(), id)
	if err != nil {
		return err
	}
	if !ok {
		return unknown(fault.New(fault.NotFound, "no conversation"), id)
	}
	return rest.Bytes(w, http.StatusOK, runtimeAvailable)
}
