// Package settings has the routes of users' configuration: settings, secrets,
// profiles, provider connections and workspaces. Package settings at the top does
// the work.
//
// # Usage
//
//	routes := settings.Routes(of, log) // of finds the settings of a request's caller
//	routes = append(routes, settings.Workspaces(store)...)
//
// # Concurrency
//
// Handlers are safe for concurrent use.
//
// # Failure
//
// Names and files that cannot be used are answered 400, bodies that do not fit
// 422, as the reference does.
package settings

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/spec"
)

// ServiceOf returns the settings of a request's caller.
type ServiceOf func(ctx context.Context) (*settings.Service, error)

// Only returns the settings of a server that has one user.
func Only(service *settings.Service) ServiceOf {
	return func(context.Context) (*settings.Service, error) { return service, nil }
}

// server answers requests about one user's settings.
type server struct {
	*settings.Service
	log *slog.Logger
}

// handler returns the answer to a request, which is sent as JSON.
type handler func(s server, r *http.Request) (any, error)

// routes makes routes of operations.
type routes struct {
	of  ServiceOf
	log *slog.Logger
}

// operation is one route of a group.
type operation struct {
	method, path string // path below the group's
	handle       handler
	status       int // of the answer; 0 for 200
}

// Routes returns the operations on everything that a service keeps.
func Routes(of ServiceOf, log *slog.Logger) []rest.Route {
	t := routes{of, log}
	all := t.group("Settings", "/api/settings", []operation{
		{"GET", "", server.getSettings, 0},
		{"PATCH", "", server.patchSettings, 0},
		{"GET", "/agent-schema", agentSchema, 0},
		{"GET", "/conversation-schema", conversationSchema, 0},
		{"POST", "/mcp/{settings_key}", server.postServer, http.StatusCreated},
		{"PATCH", "/mcp/{settings_key}", server.patchServer, 0},
		{"DELETE", "/mcp/{settings_key}", server.deleteServer, 0},
		{"GET", "/secrets", server.listSecrets, 0},
		{"PUT", "/secrets", server.putSecret, 0},
		{"DELETE", "/secrets/{name}", server.deleteSecret, 0},
	})
	all = append(all, rest.Route{Method: "GET", Path: "/api/settings/secrets/{name}", Tag: "Settings", Scope: rest.Account, Audited: true, Handle: t.getSecret})
	all = append(all, t.group("Profiles", "/api/profiles", llms())...)
	all = append(all, t.group("Agent Profiles", "/api/agent-profiles", agents())...)
	all = append(all, t.group("Meta-profiles", "/api/meta-profiles", metas())...)
	return append(all, t.group("LLM Provider Connections", "/api/llm/provider-connections", []operation{
		{"GET", "", server.listConnections, 0},
		{"POST", "", server.createConnection, http.StatusCreated},
		{"PATCH", "/{connection_id}", server.updateConnection, 0},
		{"DELETE", "/{connection_id}", server.deleteConnection, 0},
	})...)
}

// AgentProfiles returns the operations on agent profiles.
func AgentProfiles(of ServiceOf, log *slog.Logger) []rest.Route {
	return routes{of, log}.group("Agent Profiles", "/api/agent-profiles", agents())
}

// OrganizationConnections returns the operations on provider connections as an
// organization has them.
func OrganizationConnections(of ServiceOf, log *slog.Logger) []rest.Route {
	return routes{of, log}.group("Organizations", "/api/organizations/{org_id}/provider-connections", []operation{
		{"GET", "", server.listed, 0},
		{"POST", "", server.createConnection, http.StatusCreated},
		{"PATCH", "/{connection_id}", server.updateConnection, 0},
		{"DELETE", "/{connection_id}", server.deleteConnection, 0},
	})
}

// server returns the function that answers a request.
func (t routes) server(ctx context.Context) (server, error) {
	service, err := t.of(ctx)
	return server{service, t.log}, err
}

// group returns the routes of operations below a path.
func (t routes) group(tag, base string, list []operation) []rest.Route {
	out := make([]rest.Route, len(list))
	for i, o := range list {
		o.status = cmp.Or(o.status, http.StatusOK)
		out[i] = rest.Route{Method: o.method, Path: base + o.path, Tag: tag, Scope: rest.Account, Handle: answer(o.status, func(r *http.Request) (any, error) {
			s, err := t.server(r.Context())
			if err != nil {
				return nil, err
			}
			return o.handle(s, r)
		})}
		if o.method == http.MethodGet { // a sandbox sees names and masks
			out[i].Scope = rest.Sandbox
		}
	}
	return out
}

// answer sends a function's result as JSON.
func answer(status int, handle func(r *http.Request) (any, error)) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := handle(r)
		if err != nil {
			return refused(err)
		}
		return rest.JSON(w, status, v)
	}
}

// refused gives an error the status that the reference answers with: 400 for
// names and files that cannot be used, 422 for bodies that do not fit, 503 if
// there is no key to seal secrets with.
func refused(err error) error {
	var bad schema.Violations
	var gone *spec.DanglingError
	switch {
	case errors.As(err, &gone):
		return rest.Fail(http.StatusUnprocessableEntity, gone.Error())
	case errors.Is(err, schema.ErrNoKey):
		return rest.Fail(http.StatusServiceUnavailable, "Encryption not available: OH_SECRET_KEY is not configured. Cannot return encrypted secrets.")
	case fault.Is(err, fault.Invalid) && !errors.Is(err, settings.ErrInvalid) && !errors.As(err, &bad):
		return rest.Fail(http.StatusBadRequest, err.Error())
	}
	return err
}

// unprocessable refuses a body by a rule that its schema does not state.
func unprocessable(why string) error { return rest.Fail(http.StatusUnprocessableEntity, why) }

// given reads a body that changes only its own fields: m is the checked document,
// sent the client's.
func given(r *http.Request, o *schema.Object) (m, sent *schema.Map, err error) {
	v, err := rest.RequiredDocument(r)
	if err != nil {
		return nil, nil, err
	}
	sent, _ = v.(*schema.Map)
	m, err = o.Check(v, schema.Reading{}, "body")
	return m, sent, err
}

// exposure reads the header with the form in which secrets are returned; Masked
// if there is none. The key of a sandbox may ask for no other form.
func exposure(r *http.Request) (schema.Mode, error) {
	v := strings.TrimSpace(strings.ToLower(r.Header.Get("X-Expose-Secrets")))
	if v != "" && !identity.CallerOf(r.Context()).May(rest.Account) {
		return 0, fault.New(fault.Denied, "the key of a sandbox shows no secrets")
	}
	switch v {
	case "":
		return schema.Masked, nil
	case "encrypted", "true":
		return schema.Sealed, nil
	case "plaintext":
		return schema.Plain, nil
	default:
		return 0, fault.New(fault.Invalid, "Invalid X-Expose-Secrets header value: '"+v+"'. Valid values are: 'encrypted', 'plaintext'.")
	}
}
