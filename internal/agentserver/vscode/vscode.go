// Package vscode answers the routes of the editor that the reference can run
// beside its server. Deft runs none, and says so as the reference does when
// it is switched off (sdk-wire.md section 10).
//
// # Usage
//
//	routes := append(vscode.Routes(), vscode.ScopedRoutes(of)...)
//
// # Concurrency and failure
//
// There is no state. The address of the editor is refused with 503.
package vscode

import (
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/jail"
	"github.com/deft-dev/deft/internal/agentserver/rest"
)

type status struct {
	Running bool   `json:"running"`
	Enabled bool   `json:"enabled"`
	Message string `json:"message"`
}

// Routes returns the operations under /api/vscode.
func Routes() []rest.Route {
	return []rest.Route{
		{Method: "GET", Path: "/api/vscode/url", Tag: "VSCode", Handle: func(http.ResponseWriter, *http.Request) error {
			return rest.Fail(http.StatusServiceUnavailable, "503: VSCode is disabled in configuration. Set enable_vscode=true to enable.")
		}},
		{Method: "GET", Path: "/api/vscode/status", Tag: "VSCode", Handle: func(w http.ResponseWriter, _ *http.Request) error {
			return rest.JSON(w, http.StatusOK, status{Message: "VSCode is disabled in configuration"})
		}},
	}
}

// ScopedRoutes returns the operations under each conversation.
func ScopedRoutes(of jail.WorkspaceOf) []rest.Route { return of.Routes(Routes()) }
