package conversation

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/conversation/form"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/skill"
)

// equipment lists an agent's tools, skills and servers, as the web app shows them.
type equipment struct {
	Tools    []toolShown  `json:"tools"`
	Skills   []skill.Info `json:"skills"`
	Warnings []string     `json:"warnings"`
}

type toolShown struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON schema
}

// getQuestions is Deft's own: other clients word the waiting actions themselves.
func (s *Service) getQuestions(r *http.Request) (any, error) {
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	asked, err := c.Confirmation().Questions(r.Context())
	if err != nil {
		return nil, worded(err)
	}
	granted, err := c.Confirmation().Granted(r.Context())
	if err != nil {
		return nil, worded(err)
	}
	preset, err := c.Confirmation().Preset(r.Context())
	always := make([]string, len(granted))
	for i, g := range granted {
		always[i] = g.String()
	}
	return map[string]any{"questions": asked, "always": always, "preset": preset}, worded(err)
}

// getEquipment is Deft's own: the reference names the tools in the events only, without
// their schemas.
func (s *Service) getEquipment(r *http.Request) (any, error) {
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	got, err := c.Environment().Equipment(r.Context())
	if err != nil {
		return nil, worded(err)
	}
	out := equipment{Tools: []toolShown{}, Skills: []skill.Info{}, Warnings: append([]string{}, got.Warnings...)}
	for _, t := range got.Tools {
		out.Tools = append(out.Tools, toolShown{t.Name, t.Description, t.Parameters})
	}
	for _, k := range got.Skills {
		out.Skills = append(out.Skills, k.Info())
	}
	return out, nil
}

// prompts are the prompts of a conversation's MCP servers, which the web app completes.
type prompts struct {
	Prompts  []session.PromptOffer `json:"prompts"`
	Warnings []string              `json:"warnings"`
}

// getPrompts is Deft's own: a message that begins with one of the commands has its effect by any way in.
func (s *Service) getPrompts(r *http.Request) (any, error) {
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	offers, warnings, err := c.Environment().Prompts(r.Context())
	return prompts{append([]session.PromptOffer{}, offers...), append([]string{}, warnings...)}, worded(err)
}

// childRequest is the body of POST …/children
// (docs/openhands/sdk-wire-1.58.md section C.2).
type childRequest struct {
	Task      string `json:"task"`
	Title     string `json:"title"`
	Isolation string `json:"isolation"` // worktree, the default, or shared
}

func (s *Service) postChild(r *http.Request) (any, error) {
	var req childRequest
	if err := read(r, form.Child, &req); err != nil {
		return nil, err
	}
	if strings.TrimSpace(req.Task) == "" {
		return nil, schema.Violations{{
			Type: "string_too_short", Loc: []any{"body", "task"}, Msg: "String should have at least 1 character",
			Input: req.Task, Ctx: map[string]any{"min_length": 1},
		}}
	}
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	child, err := c.Delegation().Start(r.Context(), session.ChildOptions{
		Task: req.Task, Title: req.Title, Worktree: req.Isolation == "worktree",
	})
	if err != nil {
		return nil, worded(err)
	}
	// Where there is no repository a child shares its parent's workspace.
	isolation := "shared"
	if child.HasWorktree() {
		isolation = "worktree"
	}
	var title *string
	if req.Title != "" {
		title = &req.Title
	}
	return map[string]any{
		"conversation_id": child.ID(), "parent_conversation_id": c.ID(), "status": child.Status(),
		"title": title, "url": json.RawMessage("null"),
		"workspace": child.Workspace(), "isolation": isolation,
	}, nil
}

// hooksShown are the hooks of a conversation, the file of its project, and the project's other parts that run
// programs.
type hooksShown struct {
	InForce *hook.Config          `json:"hook_config"`
	Project session.HooksFile     `json:"project"`
	Parts   []session.ProjectPart `json:"parts"`
}

func (s *Service) getHooks(r *http.Request) (any, error) {
	c, err := s.conversation(r)
	if err != nil {
		return nil, err
	}
	file, err := c.ProjectHooks().File(r.Context())
	if err != nil {
		return nil, err
	}
	all, err := c.ProjectHooks().InForce()
	return hooksShown{all, file, append([]session.ProjectPart{}, c.ProjectHooks().Parts()...)}, err
}

// hooksAnswer is the owner's answer about the project's hooks, or about another part of it.
type hooksAnswer struct {
	File   string `json:"file"` // of the part; "" for the hooks
	SHA256 string `json:"sha256"`
	Allow  bool   `json:"allow"`
}

func answerHooks(ctx context.Context, c *session.Conversation, a *hooksAnswer) error {
	if a.File != "" && a.File != hook.ProjectFile {
		return c.ProjectHooks().AnswerPart(ctx, a.File, a.SHA256, a.Allow)
	}
	return c.ProjectHooks().Answer(ctx, a.SHA256, a.Allow)
}
