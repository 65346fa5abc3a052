// Package unsupported answers for features of the reference that this server does
// not have, as the reference answers where they are not there or switched off:
// VS Code, Canvas extensions and their backends, ACP agents, credential
// bindings. Clients ask and go on without them.
//
// # Usage
//
//	routes = slices.Concat(routes, unsupported.Routes(unsupported.Options{Find: …}), unsupported.Extensions())
//
// # Concurrency and failure
//
// There is no state. Requests are checked as the reference checks them, so that
// a client with a mistake hears of it here too.
package unsupported

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
)

// Options are what the answers need.
type Options struct {
	// Find returns an error if there is no conversation of this id, 32
	// hexadecimal digits. It is answered with as it is.
	Find func(ctx context.Context, id string) error
	// Settle is called before the machine is frozen; it returns when all that
	// must outlive that is on disk. Nil where it always is.
	Settle func(ctx context.Context) error
}

// Routes returns the operations but those of [Extensions].
func Routes(o Options) []rest.Route {
	return slices.Concat(code(o), backends(), agents(o))
}

// off answers as the reference words what is switched off. It is no failure of
// the server, so nothing is logged.
func off(w http.ResponseWriter, status int, why string) error {
	return rest.JSON(w, status, map[string]string{
		"detail": http.StatusText(http.StatusInternalServerError), "exception": why,
	})
}

// code are the routes of VS Code.
func code(o Options) []rest.Route {
	status := func(w http.ResponseWriter, _ *http.Request) error {
		return rest.JSON(w, http.StatusOK, map[string]any{
			"running": false, "enabled": false, "message": "VSCode is disabled in configuration",
		})
	}
	url := func(w http.ResponseWriter, _ *http.Request) error {
		return off(w, http.StatusServiceUnavailable, "503: VSCode is disabled in configuration. Set enable_vscode=true to enable.")
	}
	const tag, scope = "VSCode", "/api/conversations/{runtime_conversation_id}/vscode"
	return []rest.Route{
		{Method: "GET", Path: "/api/vscode/status", Tag: tag, Handle: status},
		{Method: "GET", Path: "/api/vscode/url", Tag: tag, Handle: url},
		{Method: "GET", Path: scope + "/status", Tag: tag, Handle: o.scoped(status)},
		{Method: "GET", Path: scope + "/url", Tag: tag, Handle: o.scoped(url)},
	}
}

// scoped asks for the conversation first.
func (o Options) scoped(h rest.Handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := rest.PathUUID(r, "runtime_conversation_id")
		if err != nil {
			return err
		}
		if err := o.Find(r.Context(), id); err != nil {
			return err
		}
		return h(w, r)
	}
}

var extensionName = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// named checks the name in the path.
func named(h func(w http.ResponseWriter, r *http.Request, name string) error) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("extension_name")
		wrong := schema.Violation{Loc: []any{"path", "extension_name"}, Input: name}
		switch {
		case len(name) > 255:
			wrong.Type, wrong.Msg = "string_too_long", "String should have at most 255 characters"
			wrong.Ctx = map[string]any{"max_length": 255}
		case !extensionName.MatchString(name):
			wrong.Type, wrong.Msg = "string_pattern_mismatch", "String should match pattern '"+extensionName.String()+"'"
			wrong.Ctx = map[string]any{"pattern": extensionName.String()}
		default:
			return h(w, r, name)
		}
		return schema.Violations{wrong}
	}
}

// missing says that an extension, or a part of it, is not there.
func missing(part string) rest.Handler {
	return named(func(_ http.ResponseWriter, _ *http.Request, name string) error {
		return rest.Fail(http.StatusNotFound, "Canvas extension '"+name+"' "+part)
	})
}

// backend is the state of the backend of an extension that is not there.
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
	return []rest.Route{
		{Method: "POST", Path: base + "/install", Tag: tag, Handle: install},
		{Method: "GET", Path: base + "/installed", Tag: tag, Handle: func(w http.ResponseWriter, _ *http.Request) error {
			return rest.JSON(w, http.StatusOK, map[string]any{"canvas_extensions": []any{}})
		}},
		{Method: "GET", Path: one, Tag: tag, Handle: missing("is not installed")},
		{Method: "DELETE", Path: one, Tag: tag, Handle: missing("is not installed")},
		{Method: "PATCH", Path: one, Tag: tag, Handle: wanting(missing("is not installed"), field{"enabled", isBool})},
		{Method: "GET", Path: one + "/bundle", Tag: tag, Handle: missing("bundle not found")},
		{Method: "GET", Path: one + "/icon", Tag: tag, Handle: missing("icon not found")},
		{Method: "GET", Path: back, Tag: tag, Handle: named(stateless)},
		{Method: "GET", Path: back + "/logs", Tag: tag, Handle: named(logs)},
		{Method: "DELETE", Path: back + "/data", Tag: tag, Handle: named(stateless)},
		{Method: "POST", Path: back + "/prepare", Tag: tag, Handle: wanting(named(stateless), field{"revision", isText})},
		{Method: "POST", Path: back + "/start", Tag: tag, Handle: wanting(named(stateless), field{"revision", isText})},
		{Method: "POST", Path: back + "/stop", Tag: tag, Handle: named(stateless)},
	}
}

var install = wanting(func(http.ResponseWriter, *http.Request) error {
	return rest.Fail(http.StatusBadRequest, "Could not read canvas extension source: this server does not run canvas extensions")
}, field{"source", isText})

// maxLog is the most of a log that a client may ask for (sdk-wire-1.58.md
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
		return off(w, http.StatusServiceUnavailable, "503: Canvas App backend ingress is not configured")
	})
	const tag, one = "Canvas App Backends", "/app-backends/{extension_name}"
	return []rest.Route{
		{Method: "POST", Path: one + "/session", Tag: tag, Handle: none},
		{Method: "DELETE", Path: one + "/session", Tag: tag, Handle: none},
		{Path: one, Tag: tag, Hidden: true, Access: rest.Own, Handle: none},
		{Path: one + "/{path...}", Tag: tag, Hidden: true, Access: rest.Own, Handle: none},
	}
}

// agents are the routes of ACP agents and what belongs to them.
func agents(o Options) []rest.Route {
	return []rest.Route{
		{Method: "POST", Path: "/api/acp/models", Tag: "ACP", Handle: wanting(models, field{"agent_settings", isObject})},
		{
			Method: "PUT", Path: "/api/conversations/{conversation_id}/credential-bindings/{secret_name}", Tag: "Conversations",
			Hidden: true, Handle: wanting(bind, field{"url", isText}, field{"headers", isObject}),
		},
		{Method: "POST", Path: "/api/conversations/prepare-for-sandbox-pause", Hidden: true, Handle: o.pause},
	}
}

func models(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, map[string]any{
		"agent_name": nil, "agent_version": nil, "current_model_id": nil, "available_models": []any{},
		"supports_runtime_model_switch": false,
		"error":                         map[string]string{"code": "ACPSpawnError", "detail": "this server does not run ACP agents"},
	})
}

// files are secrets that the reference binds to files of ACP agents
// (sdk-wire-1.58.md section B.7).
var files = []string{"CODEX_AUTH_JSON", "GOOGLE_APPLICATION_CREDENTIALS_JSON", "KIMI_CODE_CONFIG_TOML", "PI_AUTH_JSON"}

func bind(w http.ResponseWriter, r *http.Request) error {
	if _, err := rest.PathUUID(r, "conversation_id"); err != nil {
		return err
	}
	if !slices.Contains(files, r.PathValue("secret_name")) {
		return rest.Fail(http.StatusNotFound, "Not Found")
	}
	return off(w, http.StatusNotImplemented, "501: Credential binding source is unsupported")
}

func (o Options) pause(w http.ResponseWriter, r *http.Request) error {
	if o.Settle != nil {
		if err := o.Settle(r.Context()); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// field is one that a body must have.
type field struct {
	name string
	is   func(raw json.RawMessage) schema.Violation
}

// wanting answers after the body was checked.
func wanting(h rest.Handler, fields ...field) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var body map[string]json.RawMessage
		if err := rest.Body(r, &body); err != nil {
			return err
		}
		if body == nil {
			return schema.Missing("body")
		}
		var bad schema.Violations
		for _, f := range fields {
			raw, ok := body[f.name]
			if !ok {
				bad = append(bad, schema.Missing("body", f.name)...)
			} else if v := f.is(raw); v.Type != "" {
				v.Loc = []any{"body", f.name}
				bad = append(bad, v)
			}
		}
		if bad != nil {
			return bad
		}
		return h(w, r)
	}
}

func isBool(raw json.RawMessage) (v schema.Violation) {
	var b *bool
	if json.Unmarshal(raw, &b) != nil || b == nil {
		v = schema.Violation{Type: "bool_type", Msg: "Input should be a valid boolean"}
	}
	return v
}

func isText(raw json.RawMessage) (v schema.Violation) {
	var s *string
	switch {
	case json.Unmarshal(raw, &s) != nil || s == nil:
		v = schema.Violation{Type: "string_type", Msg: "Input should be a valid string"}
	case *s == "":
		v = schema.Violation{
			Type: "string_too_short", Msg: "String should have at least 1 character", Input: "",
			Ctx: map[string]any{"min_length": 1},
		}
	}
	return v
}

func isObject(raw json.RawMessage) (v schema.Violation) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		v = schema.Violation{Type: "dict_type", Msg: "Input should be a valid dictionary"}
	}
	return v
}
