package mcp

import (
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	return []rest.Route{
		{Method: "POST", Path: "/api/mcp/test", Tag: "MCP", Scope: rest.Sandbox, Handle: s.handleTest},
		{Method: "POST", Path: "/api/mcp/oauth/start", Tag: "MCP", Unsupported: true, Scope: rest.Sandbox, Handle: s.oauthStart},
		{Method: "GET", Path: "/api/mcp/oauth/status/{job_id}", Tag: "MCP", Unsupported: true, Scope: rest.Sandbox, Handle: s.oauthStatus},
		{Method: "POST", Path: "/api/mcp/oauth/callback/{job_id}", Tag: "MCP", Unsupported: true, Scope: rest.Sandbox, Handle: s.oauthCallback},
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

// oauthStart answers that OAuth for MCP servers is not supported.
func (s *Service) oauthStart(w http.ResponseWriter, r *http.Request) error {
	_, oauth, err := s.readProbe(r)
	switch {
	case err != nil:
		return err
	case !oauth:
		return rest.Fail(http.StatusBadRequest, "MCP OAuth start requires auth.strategy='oauth2'")
	}
	return rest.JSON(w, http.StatusOK, answer{Error: "OAuth for MCP servers is not supported yet", ErrorKind: "unknown"})
}

// noJob is the answer about any job, because none is ever started.
func noJob() error { return rest.Fail(http.StatusNotFound, "MCP OAuth job not found") }

func (s *Service) oauthStatus(http.ResponseWriter, *http.Request) error { return noJob() }

var callbackSchema = spec.Reference("MCPOAuthCallbackRequest", schema.Object{})

func (s *Service) oauthCallback(_ http.ResponseWriter, r *http.Request) error {
	if _, err := rest.BodyAs(r, callbackSchema); err != nil {
		return err
	}
	return noJob()
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
