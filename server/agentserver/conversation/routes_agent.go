package conversation

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/conversation/form"
	"github.com/deft-dev/deft/server/rest"
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

// getQuestions is Deft's own: other clients word themselves what waits for the user.
func (s *Service) getQuestions(w http.ResponseWriter, r *http.Request) error {
	c, err := s.conversation(r)
	if err != nil {
		return err
	}
	asked, err := c.Questions(r.Context())
	if err != nil {
		return worded(err)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"questions": asked})
}

// getEquipment is Deft's own: the reference names the tools in the events only, without
// their schemas.
func (s *Service) getEquipment(w http.ResponseWriter, r *http.Request) error {
	c, err := s.conversation(r)
	if err != nil {
		return err
	}
	got, err := c.Equipment(r.Context())
	if err != nil {
		return worded(err)
	}
	out := equipment{Tools: []toolShown{}, Skills: []skill.Info{}, Warnings: append([]string{}, got.Warnings...)}
	for _, t := range got.Tools {
		out.Tools = append(out.Tools, toolShown{t.Name, t.Description, t.Parameters})
	}
	for _, k := range got.Skills {
		out.Skills = append(out.Skills, k.Info())
	}
	return rest.JSON(w, http.StatusOK, out)
}

// childRequest is the body of POST …/children
// (docs/openhands/sdk-wire-1.58.md section C.2).
type childRequest struct {
	Task      string `json:"task"`
	Title     string `json:"title"`
	Isolation string `json:"isolation"` // worktree, the default, or shared
}

func (s *Service) postChild(w http.ResponseWriter, r *http.Request) error {
	var req childRequest
	if err := read(r, form.Child, &req); err != nil {
		return err
	}
	if strings.TrimSpace(req.Task) == "" {
		return schema.Violations{{
			Type: "string_too_short", Loc: []any{"body", "task"}, Msg: "String should have at least 1 character",
			Input: req.Task, Ctx: map[string]any{"min_length": 1},
		}}
	}
	c, err := s.conversation(r)
	if err != nil {
		return err
	}
	child, err := c.Delegation().Start(r.Context(), session.ChildOptions{
		Task: req.Task, Title: req.Title, Worktree: req.Isolation == "worktree",
	})
	if err != nil {
		return worded(err)
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
	return rest.JSON(w, http.StatusCreated, map[string]any{
		"conversation_id": child.ID(), "parent_conversation_id": c.ID(), "status": child.Status(),
		"title": title, "url": json.RawMessage("null"),
		"workspace": child.Workspace(), "isolation": isolation,
	})
}
