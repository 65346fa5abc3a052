package settings

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/settings"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// server answers requests about settings.
type server struct {
	*settings.Service
	log *slog.Logger
}

// handler returns the answer to a request, which is sent as JSON.
type handler func(r *http.Request) (any, error)

// operation is one route of a group.
type operation struct {
	method, path string // path below that of the group
	handle       handler
	status       int // of the answer; 0 for 200
}

// Routes returns the operations on everything that a service keeps.
func Routes(service *settings.Service, log *slog.Logger) []rest.Route {
	s := server{service, log}
	all := group("Settings", "/api/settings", []operation{
		{"GET", "", s.getSettings, 0},
		{"PATCH", "", s.patchSettings, 0},
		{"GET", "/agent-schema", agentSchema, 0},
		{"GET", "/conversation-schema", conversationSchema, 0},
		{"POST", "/mcp/{settings_key}", s.postServer, http.StatusCreated},
		{"PATCH", "/mcp/{settings_key}", s.patchServer, 0},
		{"DELETE", "/mcp/{settings_key}", s.deleteServer, 0},
		{"GET", "/secrets", s.listSecrets, 0},
		{"PUT", "/secrets", s.putSecret, 0},
		{"DELETE", "/secrets/{name}", s.deleteSecret, 0},
	})
	all = append(all, rest.Route{Method: "GET", Path: "/api/settings/secrets/{name}", Tag: "Settings", Handle: s.getSecret})
	all = append(all, group("Profiles", "/api/profiles", s.llms())...)
	all = append(all, group("Agent Profiles", "/api/agent-profiles", s.agents())...)
	all = append(all, group("Meta-profiles", "/api/meta-profiles", s.metas())...)
	return append(all, group("LLM Provider Connections", "/api/llm/provider-connections", []operation{
		{"GET", "", s.listConnections, 0},
		{"POST", "", s.createConnection, http.StatusCreated},
		{"PATCH", "/{connection_id}", s.updateConnection, 0},
		{"DELETE", "/{connection_id}", s.deleteConnection, 0},
	})...)
}

// group returns the routes of operations below a path.
func group(tag, base string, list []operation) []rest.Route {
	out := make([]rest.Route, len(list))
	for i, o := range list {
		if o.status == 0 {
			o.status = http.StatusOK
		}
		out[i] = rest.Route{Method: o.method, Path: base + o.path, Tag: tag, Handle: func(w http.ResponseWriter, r *http.Request) error {
			v, err := o.handle(r)
			if err != nil {
				return refused(err)
			}
			return rest.JSON(w, o.status, v)
		}}
	}
	return out
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

// unprocessable refuses a body for what its schema does not say.
func unprocessable(why string) error { return rest.Fail(http.StatusUnprocessableEntity, why) }

// given reads a body that changes only what it names: m is the checked document,
// sent what the client sent.
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
// if there is none.
func exposure(r *http.Request) (schema.Mode, error) {
	switch v := strings.TrimSpace(strings.ToLower(r.Header.Get("X-Expose-Secrets"))); v {
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
