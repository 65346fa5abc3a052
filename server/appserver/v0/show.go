package v0

import (
	"context"
	"net/http"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// The states of conversations (ConversationStatus).
const (
	starting = "STARTING"
	running  = "RUNNING"
	stopped  = "STOPPED"
	archived = "ARCHIVED" // its sandbox is gone
	failed   = "ERROR"
)

// RuntimeStatus of a conversation that can work, and of one that cannot.
const (
	runtimeReady  = "STATUS$READY"
	runtimeFailed = "STATUS$ERROR"
)

// version is the newest API that a conversation has, whichever it was made by.
const version = "V1"

// conversationInfo is a conversation as the contract has it (ConversationInfo).
type conversationInfo struct {
	ID            string  `json:"conversation_id"`
	Title         string  `json:"title"`
	Updated       string  `json:"last_updated_at"`
	Status        string  `json:"status"`
	RuntimeStatus *string `json:"runtime_status"`
	Repository    *string `json:"selected_repository"`
	Branch        *string `json:"selected_branch"`
	Provider      *string `json:"git_provider"`
	Trigger       *string `json:"trigger"`
	Connections   int     `json:"num_connections"` // of Socket.IO, which this server does not have: 0
	// URL and SessionKey are where clients find the agent-server contract of a
	// conversation that can work.
	URL        *string  `json:"url"`
	SessionKey *string  `json:"session_api_key"`
	Created    string   `json:"created_at"`
	PRNumbers  []int    `json:"pr_number"`
	Version    string   `json:"conversation_version"`
	Subs       []string `json:"sub_conversation_ids"`
}

// statusOf returns how a conversation is. t is the task that starts it, nil for none.
func (s *Service) statusOf(ctx context.Context, i *conversations.Info, t *store.Task) (status, runtime string) {
	switch {
	case t != nil && !t.Status.Ended():
		return starting, runtimeStatus(t.Status)
	case i.Sealed != nil: // no key opens what its sandbox needs
		return failed, runtimeFailed
	case i.In == nil:
		return archived, ""
	}
	switch s.o.Sandboxes.StatusOf(ctx, *i.In) {
	case sandboxes.Lost: // starting the conversation makes it anew
		return failed, runtimeFailed
	case sandboxes.Paused:
		return stopped, ""
	}
	return running, runtimeReady
}

// runtimeStatus is the RuntimeStatus of a start.
func runtimeStatus(s store.TaskStatus) string {
	switch s {
	case store.PreparingRepository, store.RunningSetupScript, store.SettingUpSkills:
		return "STATUS$SETTING_UP_WORKSPACE"
	case store.SettingUpGitHooks:
		return "STATUS$SETTING_UP_GIT_HOOKS"
	case store.StartingConversation:
		return "STATUS$RUNTIME_STARTED"
	case store.Ready:
		return runtimeReady
	case store.Failed:
		return runtimeFailed
	}
	return "STATUS$STARTING_RUNTIME"
}

// show describes a conversation for the client of a request.
func (s *Service) show(r *http.Request, i *conversations.Info, t *store.Task) conversationInfo {
	status, runtime := s.statusOf(r.Context(), i, t)
	out := conversationInfo{
		ID: i.Info.ID.Hex(), Title: titleOf(i.Meta.Title, i.Info.ID), Updated: rest.Stamp(i.Updated), Status: status, RuntimeStatus: optional.Of(runtime),
		Repository: optional.Of(i.Repository), Branch: optional.Of(i.Branch), Provider: optional.Of(i.Provider), Trigger: optional.Of(i.Trigger),
		Created: rest.Stamp(i.Info.Created), PRNumbers: append([]int{}, i.PRNumbers...), Version: version, Subs: []string{},
	}
	for _, sub := range i.Subs {
		out.Subs = append(out.Subs, sub.Hex())
	}
	if status == running {
		out.URL, out.SessionKey = optional.Of(s.o.URL(r)+"/api/conversations/"+out.ID), optional.Of(sandboxes.KeyFor(r.Context(), *i.In))
	}
	return out
}

// showTask describes a conversation that is being started, or could not be.
func (s *Service) showTask(t *store.Task) conversationInfo {
	req, err := conversations.Shown(*t)
	if err != nil {
		s.o.Log.Warn("the request of a start task cannot be read", "task", t.ID, "err", err)
	}
	out := conversationInfo{
		ID: t.Conversation.Hex(), Title: titleOf(req.Title, t.Conversation), Updated: rest.Stamp(t.Updated), Status: starting,
		RuntimeStatus: optional.Of(runtimeStatus(t.Status)), Repository: optional.Of(req.Repository), Branch: optional.Of(req.Branch),
		Provider: optional.Of(req.Provider), Trigger: optional.Of(req.Trigger),
		Created: rest.Stamp(t.Created), PRNumbers: append([]int{}, req.PRNumbers...), Version: version, Subs: []string{},
	}
	if t.Status == store.Failed {
		out.Status = failed
	}
	return out
}

// titleOf is the title of a conversation, or the one that the reference gives it.
func titleOf(title string, id event.ConversationID) string {
	if title != "" {
		return title
	}
	return "Conversation " + id.Hex()[:5]
}

// find returns a conversation of a request's owner, nil while it is made, and the newest
// task that starts it, nil for none. NotFound if there is neither.
func (s *Service) find(r *http.Request, id event.ConversationID) (*conversations.Info, *store.Task, error) {
	return s.findFor(r.Context(), string(owner(r)), id)
}

func (s *Service) findFor(ctx context.Context, owner string, id event.ConversationID) (*conversations.Info, *store.Task, error) {
	tasks, _, err := s.o.Conversations.SearchTasks(ctx, store.TaskQuery{Owner: owner, Conversation: id, Limit: 1})
	if err != nil {
		return nil, nil, err
	}
	var t *store.Task
	if len(tasks) > 0 {
		t = &tasks[0]
	}
	info, err := s.o.Conversations.One(ctx, identity.Tenant(owner), id)
	if fault.Is(err, fault.NotFound) && t != nil {
		return nil, t, nil
	}
	return info, t, err
}
