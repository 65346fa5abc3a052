// Package hooks serves POST /api/hooks, which shows the hooks of a project
// (docs/openhands/sdk-wire.md section 10).
//
// # Usage
//
//	routes := hooks.Routes(log, nil)
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. A hooks.json that is not valid counts
// as none, as in the reference; the log says why.
package hooks

import (
	"log/slog"
	"net/http"

	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

var bodySchema = spec.Reference("HooksRequest", schema.Object{})

// Routes returns the operations. check is asked before a project is read.
func Routes(log *slog.Logger, check workspacescope.CheckProject) []rest.Route {
	return []rest.Route{{Method: "POST", Path: "/api/hooks", Tag: "Hooks", Scope: rest.Sandbox, Handle: func(w http.ResponseWriter, r *http.Request) error {
		var body struct {
			ProjectDir string `json:"project_dir"`
		}
		if err := rest.Read(r, bodySchema, &body); err != nil {
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
