package conversation

import (
	"net/http"
	"strings"

	"github.com/deft-dev/deft/internal/agentserver/conversation/form"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/session"
)

func postGoal(c *session.Conversation, r *http.Request) error {
	var req struct {
		Objective     string `json:"objective"`
		MaxIterations int    `json:"max_iterations"`
	}
	if err := rest.Read(r, form.Goal, &req); err != nil {
		return err
	}
	objective := strings.TrimSpace(req.Objective)
	if objective == "" {
		return rest.Fail(http.StatusBadRequest, "Goal objective must not be empty.")
	}
	return c.StartGoal(r.Context(), objective, req.MaxIterations)
}

func postGoalResume(c *session.Conversation, r *http.Request) error { return c.ResumeGoal(r.Context()) }
