package mcp

import (
	"net/http"

	"github.com/deft-dev/deft/server/rest"
)

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	return []rest.Route{
		{Method: "POST", Path: "/api/mcp/test", Tag: "MCP", Scope: rest.Sandbox, Handle: s.handleTest},
		{Method: "POST", Path: "/api/mcp/oauth/start", Tag: "MCP", Scope: rest.Sandbox, Handle: s.oauthStart},
		{Method: "GET", Path: "/api/mcp/oauth/status/{job_id}", Tag: "MCP", Scope: rest.Sandbox, Handle: s.oauthStatus},
		{Method: "POST", Path: "/api/mcp/oauth/callback/{job_id}", Tag: "MCP", Scope: rest.Sandbox, Handle: s.oauthCallback},
		{Method: "GET", Path: "/api/tools/{$}", Tag: "Tools", Scope: rest.Sandbox, Handle: s.tools},
		{Method: "GET", Path: "/api/tools/catalog", Tag: "Tools", Scope: rest.Sandbox, Handle: s.catalogue},
	}
}

func (s *Service) handleTest(w http.ResponseWriter, r *http.Request) error {
	p, _, err := s.readProbe(r)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, s.test(r.Context(), p))
}

func (s *Service) tools(w http.ResponseWriter, _ *http.Request) error {
	names := make([]string, 0, len(s.o.Tools))
	for _, t := range s.o.Tools {
		if !t.Unlisted {
			names = append(names, t.Name)
		}
	}
	return rest.JSON(w, http.StatusOK, names)
}

func (s *Service) catalogue(w http.ResponseWriter, _ *http.Request) error {
	list := s.o.Tools
	if list == nil {
		list = []Tool{}
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"tools": list})
}
