package agentserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/openapi"
	settingsroutes "github.com/deft-dev/deft/server/agentserver/settings"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/spec"
)

var installExtension = spec.Reference("InstallCanvasExtensionRequest", schema.Object{})

// canvasExtensions are the two routes by which OpenHands' page finds out that the server
// runs no extensions of it.
func canvasExtensions() []rest.Route {
	const tag, base = "Canvas Extensions", "/api/canvas-extensions"
	return []rest.Route{
		{
			Method: "GET", Path: base + "/installed", Tag: tag, Unsupported: true, Scope: rest.Sandbox,
			Handle: func(w http.ResponseWriter, _ *http.Request) error {
				return rest.JSON(w, http.StatusOK, map[string]any{"canvas_extensions": []any{}})
			},
		},
		{
			Method: "POST", Path: base + "/install", Tag: tag, Unsupported: true, Scope: rest.Sandbox,
			Handle: func(_ http.ResponseWriter, r *http.Request) error {
				if _, err := rest.BodyAs(r, installExtension); err != nil {
					return err
				}
				return rest.Fail(http.StatusBadRequest, "Could not read canvas extension source: this server does not run canvas extensions")
			},
		},
	}
}

// AgentProfiles returns the operations on agent profiles, for a server of several users:
// of returns the settings of a request's caller.
func AgentProfiles(of func(ctx context.Context) (*settings.Service, error), log *slog.Logger) []rest.Route {
	return settingsroutes.AgentProfiles(of, log)
}

// OrganizationConnections returns the operations on provider connections below
// /api/organizations, whose id is not checked.
func OrganizationConnections(of func(ctx context.Context) (*settings.Service, error), log *slog.Logger) []rest.Route {
	return settingsroutes.OrganizationConnections(of, log)
}

// Contract has the facts of the contract of another server than the agent server.
type Contract = openapi.Contract

// Description returns the routes that describe those of another server: /openapi.json, /docs
// and /redoc.
func Description(all []rest.Route, version string, c *Contract) []rest.Route {
	return openapi.New(openapi.Options{Routes: all, Version: version, Contract: c}).Routes()
}

// suspend answers when everything is stored and nothing runs, so that the sandbox
// of the server can be paused: runs are interrupted, and commands of clients in
// conversations ended, as at the reference. All work again when they are used.
func (s *services) suspend(w http.ResponseWriter, r *http.Request) error {
	if err := errors.Join(s.sessions.Load().Suspend(r.Context()), s.scopes.Close()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
