package settings

import (
	"errors"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
)

// Routes returns the operations of the room.
func (s *Service) Routes() []rest.Route {
	group := func(tag, base string, list ...rest.Route) []rest.Route {
		for i := range list {
			list[i].Tag, list[i].Path, list[i].Handle = tag, base+list[i].Path, asking(list[i].Handle)
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

// asking answers 400 where a name or a file is not as it should be, as the
// reference does; a body that is not is a violation.
func asking(h rest.Handler) rest.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := unprocessable(h(w, r))
		var own *rest.Error
		var bad schema.Violations
		if fault.Is(err, fault.Invalid) && !errors.As(err, &own) && !errors.As(err, &bad) {
			return rest.Fail(http.StatusBadRequest, err.Error())
		}
		return err
	}
}

// exposure reads the header that says in which form secrets are wanted;
// Masked where it is absent.
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

// noKey answers 503 where secrets were asked for sealed without a key.
func noKey(err error) error {
	if errors.Is(err, schema.ErrNoKey) {
		return rest.Fail(http.StatusServiceUnavailable, "Encryption not available: OH_SECRET_KEY is not configured. Cannot return encrypted secrets.")
	}
	return err
}
