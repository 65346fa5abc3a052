// Package project serves what of a project agents have beside its files: its hooks at
// POST /api/hooks (docs/openhands/sdk-wire.md section 10), and the agents to which an agent
// can delegate a task at POST /api/sub-agents (sections 5.4 and 10).
//
// # Usage
//
//	routes := append(project.Hooks(log, check), project.SubAgents(log, catalog, check)...)
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. A hooks.json or an agent's file that is not valid counts
// as none, as in the reference; the log says why.
package project

import (
	"log/slog"
	"net/http"

	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

var hooksSchema = spec.Reference("HooksRequest", schema.Object{})

// Hooks returns the operation that shows hooks. check is asked before a project is read.
func Hooks(log *slog.Logger, check workspacescope.CheckProject) []rest.Route {
	return []rest.Route{{Method: "POST", Path: "/api/hooks", Tag: "Hooks", Scope: rest.Sandbox, Handle: func(w http.ResponseWriter, r *http.Request) error {
		var body struct {
			ProjectDir string `json:"project_dir"`
		}
		if err := rest.Read(r, hooksSchema, &body); err != nil {
			return err
		}
		if err := check.Check(true, body.ProjectDir); err != nil {
			return err
		}
		answer := struct {
			Config *hook.Config `json:"hook_config"`
		}{}
		if body.ProjectDir != "" {
			var err error
			if answer.Config, err = hook.Load(body.ProjectDir); err != nil {
				log.Warn("the project's hooks were left out", "project", body.ProjectDir, "err", err)
			}
		}
		return rest.JSON(w, http.StatusOK, answer)
	}}}
}

var agentsSchema = spec.Reference("SubAgentsRequest", schema.Object{})

// SubAgents returns the operation that lists agents. check is asked before a project is read.
func SubAgents(log *slog.Logger, catalog subagent.Catalog, check workspacescope.CheckProject) []rest.Route {
	return []rest.Route{{Method: "POST", Path: "/api/sub-agents", Tag: "Sub Agents", Scope: rest.Sandbox, Handle: func(w http.ResponseWriter, r *http.Request) error {
		var q subagent.Query
		if err := rest.Read(r, agentsSchema, &q); err != nil {
			return err
		}
		if err := check.Check(q.Project, q.ProjectDir); err != nil {
			return err
		}
		agents, failed := catalog.List(q)
		for _, w := range failed {
			log.Warn("an agent was left out", "err", w)
		}
		return rest.JSON(w, http.StatusOK, map[string]any{"agents": agents})
	}}}
}
