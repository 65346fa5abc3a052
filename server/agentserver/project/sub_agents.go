package project

import (
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

var agentsSchema = spec.Reference("SubAgentsRequest", schema.Object{})

// SubAgents returns the operation that lists agents. check is asked before a project is read.
func SubAgents(catalog subagent.Catalog, check workspacescope.CheckProject) []rest.Route {
	return []rest.Route{{Method: "POST", Path: "/api/sub-agents", Tag: "Sub Agents", Scope: rest.Sandbox, Handle: func(w http.ResponseWriter, r *http.Request) error {
		var q subagent.Query
		if err := rest.Read(r, agentsSchema, &q); err != nil {
			return err
		}
		if err := check.Check(q.Project, q.ProjectDir); err != nil {
			return err
		}
		return rest.JSON(w, http.StatusOK, map[string]any{"agents": catalog.List(q)})
	}}}
}
