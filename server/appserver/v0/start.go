package v0

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/server/v0event"
	"github.com/deft-dev/deft/session"
)

var providers = schema.Enum{"github", "gitlab", "bitbucket", "bitbucket_data_center", "forgejo", "azure_devops", "enterprise_sso"}

// initForm describes InitSessionRequest.
var initForm = &schema.Object{Name: "InitSessionRequest", Extra: schema.Forbid, Fields: []schema.Field{
	{Name: "repository", Type: schema.Opt(schema.String{})},
	{Name: "git_provider", Type: schema.Opt(providers)},
	{Name: "selected_branch", Type: schema.Opt(schema.String{})},
	{Name: "initial_user_msg", Type: schema.Opt(schema.String{})},
	{Name: "image_urls", Type: schema.Opt(schema.List{Of: schema.String{}})},
	{Name: "replay_json", Type: schema.Opt(schema.String{})},
	{Name: "suggested_task", Type: schema.Opt(&schema.Object{Name: "SuggestedTask", Fields: []schema.Field{
		{Name: "git_provider", Type: providers, Required: true},
		{Name: "task_type", Type: schema.Enum{"MERGE_CONFLICTS", "FAILING_CHECKS", "UNRESOLVED_COMMENTS", "OPEN_ISSUE", "OPEN_PR", "CREATE_MICROAGENT"}, Required: true},
		{Name: "repo", Type: schema.String{}, Required: true},
		{Name: "issue_number", Type: schema.Int{}, Required: true},
		{Name: "title", Type: schema.String{}, Required: true},
	}})},
	{Name: "create_microagent", Type: schema.Opt(&schema.Object{Name: "CreateMicroagent", Fields: []schema.Field{
		{Name: "repo", Type: schema.String{}, Required: true},
		{Name: "git_provider", Type: schema.Opt(providers)},
		{Name: "title", Type: schema.Opt(schema.String{})},
	}})},
	{Name: "conversation_instructions", Type: schema.Opt(schema.String{})},
	{Name: "mcp_config", Type: schema.Opt(&schema.Object{Name: "MCPConfig", Extra: schema.Forbid, Fields: []schema.Field{
		{Name: "sse_servers", Type: schema.List{Of: schema.Any{}}, Default: []any{}},
		{Name: "stdio_servers", Type: schema.List{Of: schema.Any{}}, Default: []any{}},
		{Name: "shttp_servers", Type: schema.List{Of: schema.Any{}}, Default: []any{}},
	}})},
	{Name: "conversation_id", Type: schema.Opt(schema.UUID{})},
}}

// initRequest is what a client asks for.
type initRequest struct {
	Repository   string         `json:"repository"`
	Provider     string         `json:"git_provider"`
	Branch       string         `json:"selected_branch"`
	Message      string         `json:"initial_user_msg"`
	Images       []string       `json:"image_urls"`
	Replay       string         `json:"replay_json"`
	Task         *suggestedTask `json:"suggested_task"`
	Microagent   *microagent    `json:"create_microagent"`
	Instructions string         `json:"conversation_instructions"`
	MCP          *schema.Map    `json:"mcp_config"`
	ID           string         `json:"conversation_id"`
}

// microagent is a request to write down what an agent should know of a repository.
type microagent struct {
	Repository string `json:"repo"`
	Provider   string `json:"git_provider"`
	Title      string `json:"title"`
}

// recorded adds what the conversation is to replay. As in the reference there is no other
// message then.
func (q *initRequest) recorded(to *conversations.StartRequest) (err error) {
	if q.Replay == "" {
		return nil
	}
	if to.InitialMessage != nil {
		return schema.Invalid("a conversation that replays a trajectory begins with its message, not with another one", "", "body", "replay_json")
	}
	to.Recorded, err = v0event.Trajectory([]byte(q.Replay))
	if fault.Is(err, fault.Invalid) {
		err = schema.Invalid(fault.Text(err), "", "body", "replay_json") // without the trajectory
	}
	return err
}

// startRequest is the request in the words of all contracts.
func (q *initRequest) startRequest() (conversations.StartRequest, error) {
	out := conversations.StartRequest{Start: conversations.Start{
		ConversationID: q.ID, Repository: q.Repository, Provider: q.Provider, Branch: q.Branch,
		Suffix: q.Instructions, Trigger: "gui",
	}}
	text := q.Message
	switch {
	case q.Task != nil:
		text, out.Trigger = q.Task.prompt(), "suggested_task"
		out.Repository, out.Provider = cmp.Or(out.Repository, q.Task.Repository), cmp.Or(out.Provider, q.Task.Provider)
	case q.Microagent != nil:
		out.Trigger, out.Title = triggerMicroagent, q.Microagent.Title
		out.Repository, out.Provider = cmp.Or(out.Repository, q.Microagent.Repository), cmp.Or(out.Provider, q.Microagent.Provider)
	}
	if strings.TrimSpace(text) == "" && len(q.Images) == 0 {
		return out, nil
	}
	content, err := message(text, q.Images)
	if err != nil {
		return out, err
	}
	out.InitialMessage = &session.Message{Role: event.RoleUser, Content: content, Run: true}
	return out, nil
}

// conversationResponse is the answer to a start or a stop (ConversationResponse).
type conversationResponse struct {
	Status  string  `json:"status"`
	ID      string  `json:"conversation_id"`
	Message *string `json:"message"`
	Now     string  `json:"conversation_status"`
}

func respond(w http.ResponseWriter, id event.ConversationID, message, now string) error {
	return rest.JSON(w, http.StatusOK, conversationResponse{"ok", id.Hex(), optional.Of(message), now})
}

// create starts a conversation and answers while that is done.
func (s *Service) create(w http.ResponseWriter, r *http.Request) error {
	var q initRequest
	if err := rest.ReadOptional(r, initForm, &q); err != nil {
		return err
	}
	req, err := q.startRequest()
	if err == nil {
		err = q.recorded(&req)
	}
	if err == nil && q.MCP != nil {
		req.MCP, err = s.o.MCPServers(q.MCP, "body", "mcp_config")
	}
	if err != nil {
		return err
	}
	if identity.CallerOf(r.Context()).Method == identity.APIKey && req.Trigger == "gui" {
		req.Trigger = "openhands_api"
	}
	t, err := s.o.Conversations.Start(r.Context(), owner(r), req)
	if err != nil {
		return err
	}
	return respond(w, t.Conversation, "", starting)
}

// start lets a stopped conversation work again.
func (s *Service) start(w http.ResponseWriter, r *http.Request) error {
	if _, _, err := rest.Document(r); err != nil { // the providers that are set are those of the settings
		return err
	}
	id, err := pathID(r)
	if err != nil {
		return err
	}
	info, t, err := s.find(r, id)
	if err != nil {
		return err
	}
	if info == nil {
		if t.Status == store.Failed {
			return fault.New(fault.Conflict, "the conversation could not be started: "+t.Detail)
		}
		return respond(w, id, "", starting)
	}
	if _, err := s.o.Conversations.Continue(r.Context(), owner(r), id); err != nil {
		return err
	}
	if info, t, err = s.find(r, id); err != nil {
		return err
	}
	status, _ := s.statusOf(r.Context(), info, t)
	return respond(w, id, "", status)
}

// stop pauses the sandbox of a conversation: what runs in it is interrupted.
func (s *Service) stop(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	info, t, err := s.find(r, id)
	if err != nil {
		return err
	}
	if t != nil && !t.Status.Ended() {
		return fault.New(fault.Conflict, "the conversation is being started").Hint("stop it when it runs")
	}
	if info == nil {
		return respond(w, id, "Conversation was not running", failed)
	}
	if status, _ := s.statusOf(r.Context(), info, t); status != running {
		return respond(w, id, "Conversation was not running", status)
	}
	if err := s.o.Sandboxes.Pause(r.Context(), owner(r), info.In.ID); err != nil {
		return err
	}
	return respond(w, id, "Conversation stopped successfully", stopped)
}

func (s *Service) patch(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	var req struct {
		Title string `json:"title"`
	}
	if err := rest.Read(r, patchForm, &req); err != nil {
		return err
	}
	if _, err := s.o.Conversations.Patch(r.Context(), owner(r), id, conversations.Change{Title: &req.Title}); err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, true)
}

// delete answers whether there was something to delete.
func (s *Service) delete(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err == nil {
		err = s.o.Conversations.Delete(r.Context(), owner(r), id)
	}
	if err != nil && !isMissing(err) {
		return err
	}
	return rest.JSON(w, http.StatusOK, err == nil)
}

func isMissing(err error) bool { return fault.Is(err, fault.NotFound) }

// suggestedTask is a task that a page has found at a Git host (SuggestedTask).
type suggestedTask struct {
	Provider   string `json:"git_provider"`
	Type       string `json:"task_type"`
	Repository string `json:"repo"`
	Number     int    `json:"issue_number"`
	Title      string `json:"title"`
}

// prompt is the message by which an agent is given the task. The title is a text of
// others, so it is quoted and said to be one.
func (t *suggestedTask) prompt() string {
	request, token := "pull request", "GITHUB_TOKEN"
	switch t.Provider {
	case "gitlab":
		request, token = "merge request", "GITLAB_TOKEN"
	case "bitbucket":
		token = "BITBUCKET_TOKEN"
	}
	its := fmt.Sprintf("%s #%d of the repository %s (its title, which others wrote: %q)", request, t.Number, t.Repository, t.Title)
	ends := fmt.Sprintf(" The API of the Git host can be used with the token in $%s. Commit and push to the branch of the %s; do not open another one.", token, request)
	switch t.Type {
	case "MERGE_CONFLICTS":
		return "Resolve the merge conflicts of " + its + ": merge its target branch into its branch, resolve what conflicts so that both changes keep their meaning, and run the tests." + ends
	case "FAILING_CHECKS":
		return "Make the failing checks of " + its + " pass: find out which checks fail and why, mend the cause, and run them here if that is possible." + ends
	case "UNRESOLVED_COMMENTS":
		return "Work through the review comments of " + its + " that are not resolved: make the changes that they ask for, and say where you did not." + ends
	case "OPEN_PR":
		return "Review and finish " + its + "." + ends
	case "CREATE_MICROAGENT":
		return fmt.Sprintf("Study the repository %s and write down what an agent needs to know to work in it (purpose, layout, how to build, test and check it) in .openhands/microagents/repo.md. Commit that on a new branch and open a %s.", t.Repository, request)
	}
	return fmt.Sprintf("Solve issue #%d of the repository %s (its title, which others wrote: %q). Read the issue with its comments by the API of the Git host, with the token in $%s. Work on a new branch, test your change, push it and open a %s that refers to the issue.",
		t.Number, t.Repository, t.Title, token, request)
}
