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

// Routes returns the operations on everything that a service keeps.
func Routes(service *settings.Service, log *slog.Logger) []rest.Route {
	s := server{service, log}
	group := func(tag, base string, list ...rest.Route) []rest.Route {
		for i := range list {
			list[i].Tag, list[i].Path, list[i].Handle = tag, base+list[i].Path, answering(list[i].Handle)
		}
		return list
	}
	var all []rest.Route
	all = append(all, group("Settings", "/api/settings",
		rest.Route{Method: "GET", Handle: s.getSettings},
		rest.Route{Method: "PATCH", Handle: s.patchSettings},
		rest.Route{Method: "GET", Path: "/agent-schema", Handle: agentSchema},
		rest.Route{Method: "GET", Path: "/conversation-schema", Handle: conversationSchema},
		rest.Route{Method: "POST", Path: "/mcp/{settings_key}", Handle: s.postServer},
		rest.Route{Method: "PATCH", Path: "/mcp/{settings_key}", Handle: s.patchServer},
		rest.Route{Method: "DELETE", Path: "/mcp/{settings_key}", Handle: s.deleteServer},
		rest.Route{Method: "GET", Path: "/secrets", Handle: s.listSecrets},
		rest.Route{Method: "PUT", Path: "/secrets", Handle: s.putSecret},
		rest.Route{Method: "GET", Path: "/secrets/{name}", Handle: s.getSecret},
		rest.Route{Method: "DELETE", Path: "/secrets/{name}", Handle: s.deleteSecret},
	)...)
	all = append(all, group("Profiles", "/api/profiles", s.llmRoutes()...)...)
	all = append(all, group("Agent Profiles", "/api/agent-profiles", s.agentRoutes()...)...)
	all = append(all, group("Meta-profiles", "/api/meta-profiles", s.metaRoutes()...)...)
	return append(all, group("LLM Provider Connections", "/api/llm/provider-connections",
		rest.Route{Method: "GET", Handle: s.listConnections},
		rest.Route{Method: "POST", Handle: s.createConnection},
		rest.Route{Method: "PATCH", Path: "/{connection_id}", Handle: s.updateConnection},
		rest.Route{Method: "DELETE", Path: "/{connection_id}", Handle: s.deleteConnection},
	)...)
}

// answering answers 400 for names and files that cannot be used, as the
// reference does; bodies that do not fit are violations.
func answering(h rest.Handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := h(w, r)
		var bad schema.Violations
		var gone *spec.DanglingError
		switch {
		case errors.As(err, &gone):
			return rest.Fail(http.StatusUnprocessableEntity, gone.Error())
		case fault.Is(err, fault.Invalid) && !errors.Is(err, settings.ErrInvalid) && !errors.As(err, &bad):
			return rest.Fail(http.StatusBadRequest, err.Error())
		}
		return err
	}
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

// noKey answers 503 if secrets cannot be sealed for lack of a key.
func noKey(err error) error {
	if errors.Is(err, schema.ErrNoKey) {
		return rest.Fail(http.StatusServiceUnavailable, "Encryption not available: OH_SECRET_KEY is not configured. Cannot return encrypted secrets.")
	}
	return err
}
