package v1

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// startTask is a start task as the contract has it (AppConversationStartTask).
type startTask struct {
	ID           string      `json:"id"`
	Owner        string      `json:"created_by_user_id"`
	Status       string      `json:"status"`
	Detail       *string     `json:"detail"`
	Conversation *string     `json:"app_conversation_id"`
	Sandbox      *string     `json:"sandbox_id"`
	URL          *string     `json:"agent_server_url"`
	Request      *schema.Map `json:"request"`
	Log          string      `json:"setup_log"` // not in the contract
	FailedAt     *string     `json:"failed_at"` // nor this: the status in which it failed
	Created      string      `json:"created_at"`
	Updated      string      `json:"updated_at"`
}

func (s *Service) showTask(r *http.Request, t *store.Task) startTask {
	request, err := shownRequest(*t)
	if err != nil {
		s.o.Log.Warn("the request of a start task cannot be read", "task", t.ID, "err", err)
	}
	out := startTask{
		ID: t.ID, Owner: t.Owner, Status: string(t.Status), Detail: optional.Of(t.Detail), Sandbox: optional.Of(t.Sandbox),
		Request: request, Log: t.Log, FailedAt: optional.Of(string(t.FailedAt)), Created: rest.Stamp(t.Created), Updated: rest.Stamp(t.Updated),
	}
	if t.Status == store.Ready {
		out.Conversation, out.URL = optional.Of(t.Conversation.Hex()), optional.Of(s.o.URL(r))
	}
	return out
}

// shownRequest is the request of a task with all fields of the contract, those that are
// not set too.
func shownRequest(t store.Task) (*schema.Map, error) {
	shown, err := conversations.Shown(t)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(shown)
	if err != nil {
		return nil, err
	}
	doc, err := schema.Parse(raw)
	if err != nil {
		return nil, err
	}
	return startForm.Check(doc, schema.Reading{}, "request")
}

var triggers = schema.Enum{"resolver", "gui", "suggested_task", "openhands_api", "slack", "microagent_management", "jira", "jira_dc", "linear", "bitbucket", "automation"}

// pluginForm describes PluginSpec.
var pluginForm = &schema.Object{Name: "PluginSpec", Fields: []schema.Field{
	{Name: "source", Type: schema.String{}, Required: true},
	{Name: "ref", Type: schema.Opt(schema.String{})},
	{Name: "repo_path", Type: schema.Opt(schema.String{Valid: gitsource.CheckPath})},
	{Name: "parameters", Type: schema.Opt(schema.Dict{Of: schema.Any{}})},
}}

// startForm describes AppConversationStartRequest. Fields without an effect here are read
// and ignored as far as they change nothing that a user sees (observability); those that
// would are refused where they are used.
var startForm = &schema.Object{Name: "AppConversationStartRequest", Fields: []schema.Field{
	{Name: "sandbox_id", Type: schema.Opt(schema.String{})},
	{Name: "conversation_id", Type: schema.Opt(schema.UUID{})},
	{Name: "initial_message", Type: schema.Opt(&schema.Object{Name: "SendMessageRequest", Fields: []schema.Field{
		{Name: "role", Type: schema.Choice{"user"}, Default: "user"},
		{Name: "content", Type: schema.List{Of: schema.Any{}}, Default: []any{}},
		{Name: "run", Type: schema.Bool{}, Default: false},
	}})},
	{Name: "system_message_suffix", Type: schema.Opt(schema.String{})},
	{Name: "processors", Type: schema.Opt(schema.List{Of: &schema.Object{Name: "EventCallbackProcessor", Extra: schema.Keep, Fields: []schema.Field{{Name: "kind", Type: schema.String{}, Required: true}}}})},
	{Name: "llm_model", Type: schema.Opt(schema.String{})},
	{Name: "agent_profile_id", Type: schema.Opt(schema.UUID{})},
	{Name: "selected_repository", Type: schema.Opt(schema.String{})},
	{Name: "selected_branch", Type: schema.Opt(schema.String{})},
	{Name: "git_provider", Type: schema.Opt(providers)},
	{Name: "suggested_task", Type: schema.Opt(schema.Any{})},
	{Name: "title", Type: schema.Opt(schema.String{Max: 200})},
	{Name: "trigger", Type: schema.Opt(triggers)},
	{Name: "pr_number", Type: schema.List{Of: schema.Int{}}, Default: []any{}},
	{Name: "parent_conversation_id", Type: schema.Opt(schema.UUID{})},
	{Name: "agent_type", Type: schema.Enum{"default", "plan"}, Default: "default"},
	{Name: "public", Type: schema.Opt(schema.Bool{})},
	{Name: "observability_metadata", Type: schema.Opt(schema.Any{})},
	{Name: "observability_tags", Type: schema.Opt(schema.Any{})},
	{Name: "observability_span_name", Type: schema.Opt(schema.String{})},
	{Name: "plugins", Type: schema.Opt(schema.List{Of: pluginForm})},
	{Name: "secrets", Type: schema.Opt(schema.Dict{Of: schema.String{}})},
	{Name: "confirm", Type: schema.Opt(schema.Enum(security.Presets()))}, // ours, like all that follow
	{Name: "network", Type: schema.Opt(schema.String{Max: 4096})},
	{Name: "max_iterations", Type: schema.Opt(schema.Int{Bounds: schema.Bounds{GE: &oneStep}})},
	{Name: "max_budget_per_task", Type: schema.Opt(schema.Number{Bounds: schema.Bounds{GE: new(float64)}})},
	{Name: "directory", Type: schema.Opt(schema.String{})},
	{Name: "worktree", Type: schema.Opt(schema.Bool{})},
}}

var oneStep = 1.0

// readStart reads the request of a start task.
func readStart(r *http.Request) (conversations.StartRequest, error) {
	var req struct {
		conversations.StartRequest
		Public *bool `json:"public"`
	}
	sent, _, err := rest.Document(r)
	if err != nil {
		return req.StartRequest, err
	}
	if sent == nil {
		sent = schema.NewMap()
	}
	body, err := startForm.Check(sent, schema.Reading{}, "body")
	if err != nil {
		return req.StartRequest, err
	}
	if err := schema.Into(body, &req); err != nil { // of a text or an image
		return req.StartRequest, schema.Invalid(err.Error(), body.Get("initial_message"), "body", "initial_message")
	}
	if err := conversations.CheckPlugins(req.Plugins); err != nil {
		return req.StartRequest, schema.Invalid(rest.Text(err), nil, "body", "plugins")
	}
	for i, p := range req.Processors {
		err := conversations.CheckProcessor(p)
		switch {
		case fault.Is(err, fault.Unsupported):
			return req.StartRequest, schema.Invalid(err.Error()+": "+fault.HintOf(err), conversations.ProcessorKind(p), "body", "processors", i, "kind")
		case err != nil:
			return req.StartRequest, schema.Invalid(err.Error(), conversations.ProcessorKind(p), "body", "processors", i)
		}
	}
	if req.InitialMessage != nil {
		if err := checkContent(req.InitialMessage.Content, "body", "initial_message", "content"); err != nil {
			return req.StartRequest, err
		}
		req.InitialMessage.Run = true // a task without a run would wait for ever
	}
	req.StartRequest.Public = req.Public != nil && *req.Public
	return req.StartRequest, nil
}

// readStart reads the request of a start task, with a network that the server lets it have.
func (s *Service) readStart(r *http.Request) (conversations.StartRequest, error) {
	req, err := readStart(r)
	if err != nil || req.Network == "" {
		return req, err
	}
	req.Network, err = s.o.Network(string(req.Network))
	return req, err
}

func (s *Service) start(r *http.Request) (any, error) {
	req, err := s.readStart(r)
	if err != nil {
		return nil, err
	}
	t, err := s.o.Conversations.Start(r.Context(), owner(r), req)
	if err != nil {
		return nil, err
	}
	return s.showTask(r, &t), nil
}

// streamStart answers with a JSON array that gets one more element with each state of
// the task.
func (s *Service) streamStart(w http.ResponseWriter, r *http.Request) error {
	req, err := s.readStart(r)
	if err != nil {
		return err
	}
	t, err := s.o.Conversations.Start(r.Context(), owner(r), req)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	out := http.NewResponseController(w)
	before, last := "[\n", store.TaskStatus("")
	show := func(t store.Task) error {
		if t.Status == last {
			return nil
		}
		last = t.Status
		raw, err := json.Marshal(s.showTask(r, &t))
		if err == nil {
			_, err = w.Write(append([]byte(before), raw...))
		}
		before = ",\n"
		if err != nil {
			return err
		}
		return out.Flush()
	}
	if err = show(t); err == nil {
		err = s.o.Conversations.Follow(r.Context(), owner(r), t.ID, show)
	}
	if err == nil {
		_, err = w.Write([]byte("]"))
	}
	if err != nil {
		return rest.ErrBroken
	}
	return nil
}

func (s *Service) taskQuery(r *http.Request, q *rest.Query) (out store.TaskQuery, err error) {
	out = store.TaskQuery{Owner: string(owner(r))}
	if id := q.String("conversation_id__eq", ""); id != "" {
		if out.Conversation, err = parseID(id, "query", "conversation_id__eq"); err != nil {
			return out, err
		}
	}
	if t, ok := q.Time("created_at__gte", time.UTC); ok {
		out.From = t
	}
	return out, q.Err()
}

func (s *Service) searchTasks(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	order := q.Enum("sort_order", "CREATED_AT_DESC", "CREATED_AT", "CREATED_AT_DESC", "UPDATED_AT", "UPDATED_AT_DESC")
	pageID, limit := q.String("page_id", ""), q.Limit("limit", 100, 100)
	tq, err := s.taskQuery(r, q)
	if err != nil {
		return nil, err
	}
	tq.Page, tq.Limit, tq.ByUpdated, tq.Ascending = pageID, limit, strings.HasPrefix(order, "UPDATED"), !strings.HasSuffix(order, "DESC")
	found, next, err := s.o.Conversations.SearchTasks(r.Context(), tq)
	if err != nil {
		return nil, err
	}
	items := make([]startTask, len(found))
	for i := range found {
		items[i] = s.showTask(r, &found[i])
	}
	return rest.PageOf(items, next), nil
}

func (s *Service) countTasks(r *http.Request) (any, error) {
	tq, err := s.taskQuery(r, rest.QueryOf(r))
	if err != nil {
		return nil, err
	}
	return s.o.Conversations.CountTasks(r.Context(), tq)
}

// taskIDs returns the ids of start tasks that a query names. A text that is no id is refused with
// its place, as the contract does for tasks.
func taskIDs(q *rest.Query) ([]string, error) {
	asked := q.All("ids")
	if err := tooMany(len(asked), "ids"); err != nil {
		return nil, err
	}
	for i, text := range asked {
		id, wrong := schema.ParseUUID(text, "query", "ids", i)
		if wrong != nil {
			return nil, wrong
		}
		asked[i] = id
	}
	return asked, nil
}

func (s *Service) batchTasks(r *http.Request) (any, error) {
	asked, err := taskIDs(rest.QueryOf(r))
	if err != nil {
		return nil, err
	}
	found, err := s.o.Conversations.Tasks(r.Context(), owner(r), asked...)
	if err != nil {
		return nil, err
	}
	out := make([]*startTask, len(found))
	for i, t := range found {
		if t != nil {
			shown := s.showTask(r, t)
			out[i] = &shown
		}
	}
	return out, nil
}
