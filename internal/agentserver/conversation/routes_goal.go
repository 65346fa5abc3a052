package conversation

import (
	"net/http"
	"strings"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
)

func postGoal(c *session.Conversation, r *http.Request) error {
	req := struct {
		Objective     *string `json:"objective"`
		MaxIterations int     `json:"max_iterations"`
	}{MaxIterations: 10}
	if err := rest.Body(r, &req); err != nil {
		return err
	}
	switch {
	case req.Objective == nil:
		return schema.Missing("body", "objective")
	case req.MaxIterations < 1:
		return schema.Invalid("max_iterations must be at least 1", req.MaxIterations, "body", "max_iterations")
	}
	objective := strings.TrimSpace(*req.Objective)
	if objective == "" {
		return rest.Fail(http.StatusBadRequest, "Goal objective must not be empty.")
	}
	return c.StartGoal(r.Context(), objective, req.MaxIterations)
}

func postGoalResume(c *session.Conversation, r *http.Request) error { return c.ResumeGoal(r.Context()) }
