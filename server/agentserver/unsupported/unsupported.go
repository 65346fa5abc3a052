// Package unsupported answers requests for features of the reference that this
// server does not have, as the reference does where they are not installed or
// switched off: Canvas extensions and their backends, ACP agents, credential
// bindings. Clients then do without them.
//
// # Usage
//
//	routes = slices.Concat(routes, unsupported.Routes(), unsupported.Extensions())
//
// # Concurrency and failure
//
// There is no state. Requests are checked as the reference checks them, so that
// a client with a mistake is told.
package unsupported

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// Routes returns all operations but those of [Extensions].
func Routes() []rest.Route {
	return marked(slices.Concat(backends(), agents()))
}

// marked marks routes as unsupported.
func marked(routes []rest.Route) []rest.Route {
	for i := range routes {
		routes[i].Unsupported = true
	}
	return routes
}

var nameSchema = schema.String{Max: 255, Pattern: regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)}

// named checks the name in the path.
func named(h func(w http.ResponseWriter, r *http.Request, name string) error) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("extension_name")
		if _, err := schema.Check(nameSchema, name, schema.Reading{}, "path", "extension_name"); err != nil {
			return err
		}
		return h(w, r, name)
	}
}

// missing answers that an extension, or a part of it, does not exist.
func missing(part string) rest.Handler {
	return named(func(_ http.ResponseWriter, _ *http.Request, name string) error {
		return rest.Fail(http.StatusNotFound, "Canvas extension '"+name+"' "+part)
	})
}

// backend is the state of the backend of an extension.
type backend struct {
	Name             string  `json:"name"`
	State            string  `json:"state"`
	Revision         *string `json:"revision"`
	PreparedRevision *string `json:"prepared_revision"`
	PID              *int    `json:"pid"`
	Port             *int    `json:"port"`
	Detail           string  `json:"detail"`
}

func stateless(w http.ResponseWriter, _ *http.Request, name string) error {
	return rest.JSON(w, http.StatusOK, backend{
		Name: name, State: "missing", Detail: "Canvas App is not installed or its manifest is invalid",
	})
}

// Extensions returns the operations of Canvas extensions: none is installed.
func Extensions() []rest.Route {
	const tag, base = "Canvas Extensions", "/api/canvas-extensions"
	const one, back = base + "/installed/{extension_name}", base + "/installed/{extension_name}/backend"
	return marked([]rest.Route{
		{Method: "POST", Path: base + "/install", Tag: tag, Scope: rest.Sandbox, Handle: install},
		{Method: "GET", Path: base + "/installed", Tag: tag, Scope: rest.Sandbox, Handle: func(w http.ResponseWriter, _ *http.Request) error {
			return rest.JSON(w, http.StatusOK, map[string]any{"canvas_extensions": []any{}})
		}},
		{Method: "GET", Path: one, Tag: tag, Scope: rest.Sandbox, Handle: missing("is not installed")},
		{Method: "DELETE", Path: one, Tag: tag, Scope: rest.Sandbox, Handle: missing("is not installed")},
		{Method: "PATCH", Path: one, Tag: tag, Scope: rest.Sandbox, Handle: checked(enableSchema, missing("is not installed"))},
		{Method: "GET", Path: one + "/bundle", Tag: tag, Scope: rest.Sandbox, Handle: missing("bundle not found")},
		{Method: "GET", Path: one + "/icon", Tag: tag, Scope: rest.Sandbox, Handle: missing("icon not found")},
		{Method: "GET", Path: back, Tag: tag, Scope: rest.Sandbox, Handle: named(stateless)},
		{Method: "GET", Path: back + "/logs", Tag: tag, Scope: rest.Sandbox, Handle: named(logs)},
		{Method: "DELETE", Path: back + "/data", Tag: tag, Scope: rest.Sandbox, Handle: named(stateless)},
		{Method: "POST", Path: back + "/prepare", Tag: tag, Scope: rest.Sandbox, Handle: checked(revisionSchema, named(stateless))},
		{Method: "POST", Path: back + "/start", Tag: tag, Scope: rest.Sandbox, Handle: checked(revisionSchema, named(stateless))},
		{Method: "POST", Path: back + "/stop", Tag: tag, Scope: rest.Sandbox, Handle: named(stateless)},
	})
}

var install = checked(installSchema, func(http.ResponseWriter, *http.Request) error {
	return rest.Fail(http.StatusBadRequest, "Could not read canvas extension source: this server does not run canvas extensions")
})

// maxLog is the most of a log that a client may ask for (docs/openhands/sdk-wire-1.58.md
// section D).
const maxLog = 256 << 10

func logs(w http.ResponseWriter, r *http.Request, name string) error {
	q := rest.QueryOf(r)
	q.Int("limit_bytes", maxLog, 1, maxLog)
	if err := q.Err(); err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"name": name, "logs": "", "truncated": false})
}

// backends are the routes by which browsers reach the backends of extensions.
func backends() []rest.Route {
	none := named(func(w http.ResponseWriter, _ *http.Request, _ string) error {
		return rest.Off(w, http.StatusServiceUnavailable, "503: Canvas App backend ingress is not configured")
	})
	const tag, one = "Canvas App Backends", "/app-backends/{extension_name}"
	return []rest.Route{
		{Method: "POST", Path: one + "/session", Tag: tag, Scope: rest.Sandbox, Handle: none},
		{Method: "DELETE", Path: one + "/session", Tag: tag, Scope: rest.Sandbox, Handle: none},
		{Path: one, Tag: tag, Hidden: true, Scope: rest.Checked, Limit: rest.NoBody, Trusted: rest.DefaultBody, Handle: none},
		{Path: one + "/{path...}", Tag: tag, Hidden: true, Scope: rest.Checked, Limit: rest.NoBody, Trusted: rest.DefaultBody, Handle: none},
	}
}

// agents are the routes of ACP agents and what belongs to them.
func agents() []rest.Route {
	return []rest.Route{
		{Method: "POST", Path: "/api/acp/models", Tag: "ACP", Scope: rest.Sandbox, Handle: checked(modelsSchema, models)},
		{
			Method: "PUT", Path: "/api/conversations/{conversation_id}/credential-bindings/{secret_name}", Tag: "Conversations",
			Scope: rest.Sandbox, Hidden: true, Handle: checked(bindingSchema, bind),
		},
	}
}

func models(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, map[string]any{
		"agent_name": nil, "agent_version": nil, "current_model_id": nil, "available_models": []any{},
		"supports_runtime_model_switch": false,
		"error":                         map[string]string{"code": "ACPSpawnError", "detail": "this server does not run ACP agents"},
	})
}

// files are the secrets that the reference binds to files of ACP agents
// (docs/openhands/sdk-wire-1.58.md section B.7).
var files = []string{"CODEX_AUTH_JSON", "GOOGLE_APPLICATION_CREDENTIALS_JSON", "KIMI_CODE_CONFIG_TOML", "PI_AUTH_JSON"}

func bind(w http.ResponseWriter, r *http.Request) error {
	if _, err := rest.PathUUID(r, "conversation_id"); err != nil {
		return err
	}
	if !slices.Contains(files, r.PathValue("secret_name")) {
		return rest.Fail(http.StatusNotFound, "Not Found")
	}
	return rest.Off(w, http.StatusNotImplemented, "501: Credential binding source is unsupported")
}

var (
	installSchema  = spec.Reference("InstallCanvasExtensionRequest", schema.Object{})
	enableSchema   = spec.Reference("UpdateCanvasExtensionStateRequest", schema.Object{})
	revisionSchema = spec.Reference("BackendRevisionRequest", schema.Object{})
	modelsSchema   = &schema.Object{Fields: []schema.Field{{Name: "agent_settings", Type: anyObject, Required: true}}}
	bindingSchema  = &schema.Object{Fields: []schema.Field{
		{Name: "url", Type: schema.String{Min: 1}, Required: true}, {Name: "headers", Type: anyObject, Required: true},
	}}
	anyObject = schema.Dict{Of: schema.Any{}}
)

// checked answers after the body was checked.
func checked(body *schema.Object, h rest.Handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := rest.BodyAs(r, body); err != nil {
			return err
		}
		return h(w, r)
	}
}
