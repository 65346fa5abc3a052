package v1

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
)

// appConversation is a conversation as the contract has it (AppConversation).
type appConversation struct {
	ID          string                 `json:"id"`
	Owner       string                 `json:"created_by_user_id"`
	Sandbox     string                 `json:"sandbox_id"`
	Repository  *string                `json:"selected_repository"`
	Branch      *string                `json:"selected_branch"`
	Provider    *string                `json:"git_provider"`
	Title       *string                `json:"title"`
	FirstTitle  *string                `json:"provisional_title,omitempty"` // not in the contract: the first message, where the title is not written yet
	Trigger     *string                `json:"trigger"`
	PRNumbers   []int                  `json:"pr_number"`
	PRURLs      map[int]string         `json:"pr_url,omitempty"` // not in the contract: by number, of those that it has opened
	Model       *string                `json:"llm_model"`
	AgentKind   string                 `json:"agent_kind"`
	AgentType   string                 `json:"agent_type"` // not in the contract: default or plan
	Metrics     *conversations.Metrics `json:"metrics"`
	Parent      *string                `json:"parent_conversation_id"`
	Subs        []string               `json:"sub_conversation_ids"`
	Public      bool                   `json:"public"`
	Tags        map[string]string      `json:"tags"`
	Created     string                 `json:"created_at"`
	Updated     string                 `json:"updated_at"`
	SandboxIs   sandboxes.Status       `json:"sandbox_status"`
	Status      *string                `json:"execution_status"`
	URL         *string                `json:"conversation_url"`
	SessionKey  *string                `json:"session_api_key"`
	ACPServer   *string                `json:"acp_server"`
	FromProfile json.RawMessage        `json:"launched_agent_profile"`
	Directory   *string                `json:"directory"` // not in the contract: of this machine, where it works or can go on
}

// show describes a conversation for the client of a request.
func (s *Service) show(r *http.Request, i *conversations.Info) appConversation {
	out := appConversation{
		ID: i.Info.ID.Hex(), Owner: i.Meta.Owner, Sandbox: i.Conversation.Sandbox,
		Repository: optional.Of(i.Repository), Branch: optional.Of(i.Branch), Provider: optional.Of(i.Provider),
		Title: optional.Of(i.Meta.Title), Trigger: optional.Of(i.Trigger), PRNumbers: i.PRNumbers, PRURLs: i.PRURLs, Model: optional.Of(i.Details.Agent.LLM.Model),
		AgentKind: "openhands", AgentType: cmp.Or(i.AgentType, "default"), Metrics: i.Metrics, Subs: []string{}, Public: i.Conversation.Public, Tags: i.Meta.Tags,
		Created: rest.Stamp(i.Info.Created), Updated: rest.Stamp(i.Updated), SandboxIs: sandboxes.Missing, FromProfile: i.Details.Profile, Directory: optional.Of(i.Directory),
	}
	if out.PRNumbers == nil {
		out.PRNumbers = []int{}
	}
	if out.Tags == nil {
		out.Tags = map[string]string{}
	}
	for _, sub := range i.Subs {
		out.Subs = append(out.Subs, sub.Hex())
	}
	if i.Meta.Parent != "" {
		out.Parent = optional.Of(i.Meta.Parent.Hex())
	}
	if i.Details.Agent.Kind == spec.ACPKind {
		out.AgentKind, out.ACPServer = "acp", i.Details.Agent.Server
	}
	if i.Sealed != nil {
		out.SandboxIs = sandboxes.Lost
	}
	if i.In == nil {
		return out
	}
	out.SandboxIs = s.o.Sandboxes.StatusOf(r.Context(), *i.In)
	if out.SandboxIs == sandboxes.Running {
		out.Status = optional.Of(i.Details.Status)
		if out.Status == nil {
			out.Status = optional.Of("idle")
		}
		out.URL, out.SessionKey = optional.Of(s.o.URL(r)+"/api/conversations/"+i.Info.ID.Hex()), optional.Of(sandboxes.KeyFor(r.Context(), *i.In))
	}
	return out
}

// listQuery reads the filters of a list of conversations.
func listQuery(q *rest.Query) (out eventstream.ListQuery) {
	out.Title = q.String("title__contains", "")
	out.Status = q.Enum("execution_status__eq", "", "idle", "running", "paused", "waiting_for_confirmation", "finished", "error", "stuck")
	for name, to := range map[string]*time.Time{
		"created_at__gte": &out.CreatedFrom, "created_at__lt": &out.CreatedBefore,
		"updated_at__gte": &out.UpdatedFrom, "updated_at__lt": &out.UpdatedBefore,
	} {
		if t, ok := q.Time(name, time.UTC); ok {
			*to = t
		}
	}
	out.WithoutParent = !q.Bool("include_sub_conversations", false)
	return out
}

func (s *Service) inSandbox(r *http.Request, q *rest.Query, lq *eventstream.ListQuery) (err error) {
	if id := q.String("sandbox_id__eq", ""); id != "" {
		lq.Only, err = s.o.Sandboxes.Conversations(r.Context(), owner(r), id)
	}
	return err
}

func (s *Service) search(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	lq := listQuery(q)
	lq.PageID, lq.Limit = q.String("page_id", ""), q.Limit("limit", 100, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	if err := s.inSandbox(r, q, &lq); err != nil {
		return nil, err
	}
	found, next, err := s.o.Conversations.List(r.Context(), owner(r), lq)
	if err != nil {
		return nil, err
	}
	items := make([]appConversation, len(found))
	for i := range found {
		items[i] = s.show(r, &found[i])
	}
	return rest.PageOf(items, next), nil
}

func (s *Service) count(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	lq := listQuery(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	if err := s.inSandbox(r, q, &lq); err != nil {
		return nil, err
	}
	return s.o.Conversations.Count(r.Context(), owner(r), lq)
}

func (s *Service) batch(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	if err := tooMany(len(q.All("ids")), "ids"); err != nil {
		return nil, err
	}
	asked, err := onlyIDs(q, "ids")
	if err != nil {
		return nil, err
	}
	found, err := s.o.Conversations.Get(r.Context(), owner(r), asked...)
	if err != nil {
		return nil, err
	}
	out := make([]*appConversation, len(found))
	for i, one := range found {
		if one != nil {
			shown := s.show(r, one)
			if one.Untitled { // who asks for one asks again soon for a title that is missing
				shown.Title, shown.FirstTitle = nil, shown.Title
			}
			out[i] = &shown
		}
	}
	return out, nil
}

var (
	providers = schema.Enum{"github", "gitlab", "bitbucket", "bitbucket_data_center", "forgejo", "azure_devops", "enterprise_sso"}

	patchForm = &schema.Object{Name: "AppConversationUpdateRequest", Fields: []schema.Field{
		{Name: "title", Type: schema.Opt(schema.String{Max: 200})},
		{Name: "public", Type: schema.Opt(schema.Bool{})},
		{Name: "selected_repository", Type: schema.Opt(schema.String{})},
		{Name: "selected_branch", Type: schema.Opt(schema.String{})},
		{Name: "git_provider", Type: schema.Opt(providers)},
		{Name: "tags", Type: schema.Opt(schema.Dict{Of: schema.String{}})}, // ours
	}}
)

func (s *Service) patch(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	var req struct {
		Title      *string            `json:"title"`
		Public     *bool              `json:"public"`
		Repository *string            `json:"selected_repository"`
		Branch     *string            `json:"selected_branch"`
		Provider   *string            `json:"git_provider"`
		Tags       *map[string]string `json:"tags"`
	}
	if err := rest.Read(r, patchForm, &req); err != nil {
		return nil, err
	}
	info, err := s.o.Conversations.Patch(r.Context(), owner(r), id, conversations.Change{
		Title: req.Title, Public: req.Public, Repository: req.Repository, Branch: req.Branch, Provider: req.Provider, Tags: req.Tags,
	})
	if err != nil {
		return nil, missing(err, "Conversation")
	}
	return s.show(r, info), nil
}

func (s *Service) delete(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err == nil {
		err = missing(s.o.Conversations.Delete(r.Context(), owner(r), id), "Conversation")
	}
	return rest.Done, err
}

var messageFields = []schema.Field{
	{Name: "role", Type: schema.Choice{"user", "system", "assistant", "tool"}, Default: "user"},
	{Name: "content", Type: schema.List{Of: schema.Any{}}, Required: true},
	{Name: "run", Type: schema.Bool{}, Default: true},
}

var messageForm = &schema.Object{Name: "AppSendMessageRequest", Fields: messageFields}

// checkContent refuses blocks that are neither text nor images. In events they are kept.
func checkContent(blocks []event.Content, at ...any) error {
	for i, c := range blocks {
		if c.Type != event.TypeText && c.Type != event.TypeImage {
			return schema.Invalid("Input should be a valid TextContent or ImageContent", c.Type, append(at, i)...)
		}
	}
	return nil
}

// readMessage reads a message of the user from a body.
func readMessage(r *http.Request) (m session.Message, err error) {
	body, err := rest.BodyAs(r, messageForm)
	if err != nil {
		return m, err
	}
	if err := schema.Into(body, &m); err != nil { // of a text or an image
		return m, schema.Invalid(err.Error(), body.Get("content"), "body", "content")
	}
	if err := checkContent(m.Content, "body", "content"); err != nil {
		return m, err
	}
	if m.Role != event.RoleUser {
		return m, schema.Invalid("Only user messages are allowed to be sent to the agent.", string(m.Role), "body", "role")
	}
	return m, nil
}

func (s *Service) sendMessage(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	m, err := readMessage(r)
	if err != nil {
		return nil, err
	}
	c, err := s.o.Conversations.Continue(r.Context(), owner(r), id)
	if err != nil {
		return nil, missing(err, "Conversation")
	}
	if err := c.Send(r.Context(), m); err != nil {
		return nil, err
	}
	return map[string]any{"success": true, "sandbox_status": sandboxes.Running, "message": nil}, nil
}

func (s *Service) pendingMessage(r *http.Request) (any, error) {
	m, err := readMessage(r)
	if err != nil {
		return nil, err
	}
	m.Run = true
	id, place, err := s.o.Conversations.AddPending(r.Context(), owner(r), r.PathValue("conversation_id"), m)
	return map[string]any{"id": id, "queued": place > 0, "position": place}, missing(err, "Conversation")
}

var profileForm = &schema.Object{Name: "SwitchProfileRequest", Fields: []schema.Field{{Name: "profile_name", Type: schema.String{}, Required: true}}}

func (s *Service) switchProfile(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	var req struct {
		Name string `json:"profile_name"`
	}
	if err := rest.Read(r, profileForm, &req); err != nil {
		return nil, err
	}
	c, err := s.o.Conversations.Open(r.Context(), owner(r), id)
	if err != nil {
		return nil, missing(err, "Conversation")
	}
	if _, err := c.SwitchProfile(r.Context(), req.Name); fault.Is(err, fault.NotFound) {
		return nil, rest.Fail(http.StatusNotFound, "Profile '"+req.Name+"' not found")
	} else if err != nil {
		return nil, err
	}
	return rest.Done, nil
}

func (s *Service) download(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	if _, err := s.o.Conversations.One(r.Context(), owner(r), id); err != nil {
		return missing(err, "Conversation")
	}
	return s.o.Download(w, r, id)
}
