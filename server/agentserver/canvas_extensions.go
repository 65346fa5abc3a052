package agentserver

import (
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
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
