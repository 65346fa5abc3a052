package agentserver

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/server/agentserver/conversation"
	"github.com/deft-dev/deft/server/agentserver/gateway"
	"github.com/deft-dev/deft/session"
)

// newGateway returns the gateway for clients of OpenAI's API.
func (s *services) newGateway() *gateway.Service {
	return gateway.New(gateway.Options{
		Models: func(ctx context.Context) ([]string, error) { return s.settings.Profiles.LLMs.Names(ctx) },
		Check: func(ctx context.Context, name string) error {
			_, err := s.settings.Profiles.LLMs.Load(ctx, name)
			if fault.Is(err, fault.NotFound) {
				return fault.New(fault.NotFound, "Profile '"+name+"' not found")
			}
			return err
		},
		Start: s.startChat, Find: s.findChat,
	})
}

func (s *services) findChat(ctx context.Context, id string) (gateway.Conversation, error) {
	cid, ok := event.ParseConversationID(id)
	if !ok {
		return nil, fault.New(fault.NotFound, "Conversation not found: "+id)
	}
	c, err := s.scope.Get(ctx, cid)
	if err != nil {
		return nil, err
	}
	return chat{c, s.atCapacity}, nil
}

// startChat starts a conversation of the active agent profile, with the LLM
// profile that the request names (docs/openhands/sdk-wire-1.58.md section C.5).
func (s *services) startChat(ctx context.Context, r gateway.Request) (gateway.Conversation, error) {
	profile, err := s.settings.ActiveProfile(ctx)
	if err != nil {
		return nil, err
	}
	if profile == nil {
		return nil, fault.New(fault.Conflict, "No active Agent Profile; activate one to use the gateway")
	}
	doc, err := s.settings.Load()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(s.cfg.WorkspacePath)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "make the workspace")
	}
	req := conversation.NewStartRequest()
	req.ConversationID, req.AgentProfileID, req.Autotitle = r.ID, profile.Text("id"), false
	req.Workspace = session.Workspace{WorkingDir: dir}
	req.InitialMessage = &session.Message{Role: event.RoleUser, Content: r.Content, Run: true}
	req.LaunchAdditions.Suffix = r.System
	if profile.Text("agent_kind") != "acp" {
		req.LaunchAdditions.LLMProfile = r.Profile
	}
	req.Setup.Follow(doc.Conversation)
	c, made, err := s.conversations.Start(ctx, req)
	if err == nil && !made { // another request with this id was faster
		err = c.Send(ctx, *req.InitialMessage)
	}
	if err != nil {
		return nil, err
	}
	return chat{c, s.atCapacity}, nil
}

// atCapacity refuses before a message is stored, so that the client can send
// the same request again (docs/openhands/sdk-wire-1.58.md section C.5).
func (s *services) atCapacity() error {
	if s.sessions.Load().Running() < s.cfg.MaxConcurrentRuns {
		return nil
	}
	return fault.New(fault.RateLimit, "Conversation run limit reached. Retry the request later.")
}

// chat is a conversation as the gateway sees it.
type chat struct {
	c        *session.Conversation
	capacity func() error
}

// ID implements [gateway.Conversation].
func (t chat) ID() string { return string(t.c.ID()) }

// Send implements [gateway.Conversation].
func (t chat) Send(ctx context.Context, content []event.Content) error {
	if err := t.capacity(); err != nil {
		return err
	}
	return t.c.Send(ctx, session.Message{Role: event.RoleUser, Content: content, Run: true})
}

// Wait implements [gateway.Conversation].
func (t chat) Wait(ctx context.Context) error { return t.c.Wait(ctx) }

// Outcome implements [gateway.Conversation].
func (t chat) Outcome(ctx context.Context) (out gateway.Outcome, err error) {
	raw, err := t.c.Describe(ctx)
	if err != nil {
		return out, err
	}
	var v struct {
		Status string `json:"execution_status"`
		Stats  struct {
			Services map[string]llm.Metrics `json:"usage_to_metrics"`
		} `json:"stats"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return out, err
	}
	out.Status = v.Status
	for _, m := range v.Stats.Services {
		if u := m.AccumulatedTokenUsage; u != nil {
			out.Usage.Prompt += u.PromptTokens
			out.Usage.Completion += u.CompletionTokens
			out.Usage.Cached += u.CacheReadTokens
			out.Usage.Reasoning += u.ReasoningTokens
		}
	}
	out.Text, err = t.c.Assistant().FinalResponse(ctx)
	return out, err
}
