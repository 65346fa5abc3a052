package conversation

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/conversation/form"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

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
