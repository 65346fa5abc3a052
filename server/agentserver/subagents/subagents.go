// Package subagents serves POST /api/sub-agents, which lists the agents to which
// an agent can delegate a task (docs/openhands/sdk-wire.md sections 5.4 and 10).
//
// # Usage
//
//	routes := subagents.New(subagents.Options{Catalog: catalog}).Routes()
//
// # Concurrency and failure
//
// Safe for concurrent use. Package subagent lists the omissions.
package subagents

import (
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

// Options say where agents are.
type Options struct {
	Catalog subagent.Catalog
	// CheckProject is asked before a project is read.
	CheckProject workspacescope.CheckProject
}

// Service lists agents. Make one with [New].
type Service struct{ o Options }

// New returns the service.
func New(o Options) *Service { return &Service{o} }

var querySchema = spec.Reference("SubAgentsRequest", schema.Object{})

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	return []rest.Route{{Method: "POST", Path: "/api/sub-agents", Tag: "Sub Agents", Scope: rest.Sandbox, Handle: func(w http.ResponseWriter, r *http.Request) error {
		var q subagent.Query
		if err := rest.Read(r, querySchema, &q); err != nil {
			return err
		}
		if err := s.o.CheckProject.Check(q.Project, q.ProjectDir); err != nil {
			return err
		}
		return rest.JSON(w, http.StatusOK, map[string]any{"agents": s.o.Catalog.List(q)})
	}}}
}
