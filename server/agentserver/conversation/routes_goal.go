package conversation

import (
	"context"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

func startGoal(ctx context.Context, c *session.Conversation, req *struct {
	Objective     string `json:"objective"`
	MaxIterations int    `json:"max_iterations"`
},
) error {
	objective := strings.TrimSpace(req.Objective)
	if objective == "" {
		return rest.Fail(http.StatusBadRequest, "Goal objective must not be empty.")
	}
	return c.Goal().Start(ctx, objective, req.MaxIterations)
}
