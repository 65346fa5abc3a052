package plugins

import (
	"fmt"
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/skills/installation"
)

// canvasRoutes answers for canvas extensions as the reference does when none
// is installed. Installing one is not supported yet and says so.
func canvasRoutes() []rest.Route {
	const tag, one = "Canvas Extensions", "/api/canvas-extensions/installed/{extension_name}"
	not := func(format string) rest.Handler {
		return canvas(func(_ http.ResponseWriter, _ *http.Request, name string) error {
			return rest.Fail(http.StatusNotFound, fmt.Sprintf(format, name))
		})
	}
	return []rest.Route{
		{Method: "POST", Path: "/api/canvas-extensions/install", Tag: tag, Handle: canvasInstall},
		{Method: "GET", Path: "/api/canvas-extensions/installed", Tag: tag, Handle: func(w http.ResponseWriter, _ *http.Request) error {
			return rest.JSON(w, http.StatusOK, map[string]any{"canvas_extensions": []any{}})
		}},
		{Method: "GET", Path: one, Tag: tag, Handle: not("Canvas extension '%s' is not installed")},
		{Method: "DELETE", Path: one, Tag: tag, Handle: not("Canvas extension '%s' is not installed")},
		{Method: "PATCH", Path: one, Tag: tag, Handle: canvas(func(_ http.ResponseWriter, r *http.Request, name string) error {
			if _, err := enabled(r); err != nil {
				return err
			}
			return rest.Fail(http.StatusNotFound, fmt.Sprintf("Canvas extension '%s' is not installed", name))
		})},
		{Method: "GET", Path: one + "/bundle", Tag: tag, Handle: not("Canvas extension '%s' bundle not found")},
		{Method: "GET", Path: one + "/icon", Tag: tag, Handle: not("Canvas extension '%s' icon not found")},
		{Method: "GET", Path: one + "/backend", Tag: tag, Handle: canvas(noBackend)},
		{Method: "POST", Path: one + "/backend/prepare", Tag: tag, Handle: canvas(backendRevision)},
		{Method: "POST", Path: one + "/backend/start", Tag: tag, Handle: canvas(backendRevision)},
		{Method: "POST", Path: one + "/backend/stop", Tag: tag, Handle: canvas(noBackend)},
		{Method: "DELETE", Path: one + "/backend/data", Tag: tag, Handle: canvas(noBackend)},
		{Method: "GET", Path: one + "/backend/logs", Tag: tag, Handle: canvas(func(w http.ResponseWriter, r *http.Request, name string) error {
			q := rest.QueryOf(r)
			q.Int("limit_bytes", 64<<10, 1, 256<<10)
			if err := q.Err(); err != nil {
				return err
			}
			return rest.JSON(w, http.StatusOK, struct {
				Name      string `json:"name"`
				Logs      string `json:"logs"`
				Truncated bool   `json:"truncated"`
			}{Name: name})
		})},
	}
}

// canvas checks the name of an extension.
func canvas(handle func(http.ResponseWriter, *http.Request, string) error) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name, err := rest.PathMatch(r, "extension_name", installation.Name, `^[a-z0-9]+(?:-[a-z0-9]+)*$`)
		if err != nil {
			return err
		}
		return handle(w, r, name)
	}
}

// backend is the state of an extension's own server.
type backend struct {
	Name             string  `json:"name"`
	State            string  `json:"state"`
	Revision         *string `json:"revision"`
	PreparedRevision *string `json:"prepared_revision"`
	PID              *int    `json:"pid"`
	Port             *int    `json:"port"`
	Detail           string  `json:"detail"`
}

func noBackend(w http.ResponseWriter, _ *http.Request, name string) error {
	return rest.JSON(w, http.StatusOK, backend{
		Name: name, State: "missing", Detail: "Canvas App is not installed or its manifest is invalid",
	})
}

func backendRevision(w http.ResponseWriter, r *http.Request, name string) error {
	var body struct {
		Revision *string `json:"revision"`
	}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	if body.Revision == nil {
		return rest.Missing("body", "revision")
	}
	return noBackend(w, r, name)
}

func canvasInstall(_ http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source *string `json:"source"`
	}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	if body.Source == nil {
		return rest.Missing("body", "source")
	}
	if err := rest.NotEmpty(*body.Source, "body", "source"); err != nil {
		return err
	}
	return rest.Fail(http.StatusBadRequest, "Could not read canvas extension source: canvas extensions are not supported yet")
}
