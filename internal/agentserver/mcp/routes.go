package mcp

import (
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
)

// Routes returns the operations of the room.
func (s *Service) Routes() []rest.Route {
	return []rest.Route{
		{Method: "POST", Path: "/api/mcp/test", Tag: "MCP", Handle: s.handleTest},
		{Method: "POST", Path: "/api/mcp/oauth/start", Tag: "MCP", Handle: s.oauthStart},
		{Method: "GET", Path: "/api/mcp/oauth/status/{job_id}", Tag: "MCP", Handle: s.oauthStatus},
		{Method: "POST", Path: "/api/mcp/oauth/callback/{job_id}", Tag: "MCP", Handle: s.oauthCallback},
		{Method: "GET", Path: "/api/tools/{$}", Tag: "Tools", Handle: s.tools},
		{Method: "GET", Path: "/api/tools/catalog", Tag: "Tools", Handle: s.catalogue},
	}
}

// form describes a request for a test, but for what is of one transport.
var form = &schema.Object{Fields: []schema.Field{
	{Name: "name", Type: schema.String{Min: 1, Max: 128}},
	{Name: "server", Required: true, Type: &schema.Object{Fields: []schema.Field{{Name: "args", Type: schema.Any{}}}}},
	{Name: "timeout", Type: schema.Number{Bounds: schema.Bounds{GT: &least, LE: &most}}},
}}

var least, most = 0.0, maxTimeout

func (s *Service) handleTest(w http.ResponseWriter, r *http.Request) error {
	var q request
	if err := rest.CheckBody(r, form); err != nil {
		return err
	}
	if err := rest.Body(r, &q); err != nil {
		return err
	}
	p, _, err := s.probe(q)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, s.test(r.Context(), p))
}

// oauthStart answers as if the authorisation could not begin, which is so:
// OAuth for MCP servers is not supported yet.
func (s *Service) oauthStart(w http.ResponseWriter, r *http.Request) error {
	var q request
	if err := rest.CheckBody(r, form); err != nil {
		return err
	}
	if err := rest.Body(r, &q); err != nil {
		return err
	}
	_, oauth, err := s.probe(q)
	switch {
	case err != nil:
		return err
	case !oauth:
		return rest.Fail(http.StatusBadRequest, "MCP OAuth start requires auth.strategy='oauth2'")
	}
	return rest.JSON(w, http.StatusOK, answer{Error: "OAuth for MCP servers is not supported yet", ErrorKind: "unknown"})
}

// noJob is what there is to say about any job, because none is ever started.
func noJob() error { return rest.Fail(http.StatusNotFound, "MCP OAuth job not found") }

func (s *Service) oauthStatus(http.ResponseWriter, *http.Request) error { return noJob() }

func (s *Service) oauthCallback(_ http.ResponseWriter, r *http.Request) error {
	var body struct {
		URL *string `json:"callback_url"`
	}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	if err := rest.NotEmpty(body.URL, "body", "callback_url"); err != nil {
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
