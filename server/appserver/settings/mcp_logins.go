package settings

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings/agentsettings"
)

// loginPage is the target of an authorization server's redirect: the page hands the query to
// [Service.endLogin]. No route can take the redirect, because the session's cookie is not sent from other sites.
const loginPage = "/mcp-login"

// mcpServer returns an MCP server of the settings with its secrets in the clear.
func (u user) mcpServer(name string) (*schema.Map, error) {
	doc, err := u.Load()
	if err != nil {
		return nil, err
	}
	agent, err := agentsettings.Dump(doc.Agent, schema.Writing{Mode: schema.Plain})
	if err != nil {
		return nil, err
	}
	server := agent.Object("mcp_config").Object(name)
	if server == nil {
		return nil, fault.New(fault.NotFound, "the settings have no MCP server "+name)
	}
	return server, nil
}

// session is whose logins of a browser are: nobody else's redirect counts for them.
func (u user) session() string { return string(u.caller.Tenant()) + "\n" + u.caller.Credential }

// login names a login of the session for other servers, by the state parameter of its addresses.
func (u user) login(state string) string { return u.session() + "\n" + state }

// beginLogin begins a login at an MCP server of the settings, and answers with the address for
// the browser.
func (u user) beginLogin(r *http.Request) (any, error) {
	name := r.PathValue("name")
	server, err := u.mcpServer(name)
	if err != nil {
		return nil, err
	}
	if server.Text("url") == "" {
		return nil, fault.New(fault.Invalid, "the MCP server "+name+" is a program, which has no login")
	}
	raw, err := schema.Encode(server)
	if err != nil {
		return nil, err
	}
	request := mcplogin.Request{Server: raw, Redirect: u.s.o.URL(r) + loginPage, Logins: u.Service}
	job, err := u.s.o.Logins.Start(r.Context(), u.session(), request, func(ctx context.Context, l mcplogin.Request) (json.RawMessage, error) {
		release := func() {}
		defer func() { release() }()
		show := l.Visit
		l.Visit = func(ctx context.Context, address string) (url.Values, error) {
			at, err := url.Parse(address)
			if err != nil {
				return nil, fault.New(fault.Invalid, "the address of the login page cannot be read")
			}
			held, err := u.s.o.Replicas.HoldLogin(ctx, u.login(at.Query().Get("state")))
			if err != nil {
				return nil, err
			}
			release = held
			return show(ctx, address)
		}
		if _, err := u.s.o.LogIn(ctx, l); err != nil {
			return nil, err
		}
		return json.Marshal(name)
	})
	if err != nil {
		return nil, err
	}
	address := job.Address()
	if address == "" {
		if _, err := job.Result(); err != nil {
			return nil, err
		}
	}
	return map[string]string{"authorization_url": address}, nil
}

var redirectForm = &schema.Object{Name: "MCPLoginRedirect", Fields: []schema.Field{
	{Name: "state", Type: schema.String{}, Required: true},
	{Name: "code", Type: schema.Opt(schema.String{})},
	{Name: "iss", Type: schema.Opt(schema.String{})},
	{Name: "error", Type: schema.Opt(schema.String{})},
	{Name: "error_description", Type: schema.Opt(schema.String{})},
}}

// ended says how a login went.
type ended struct {
	tested
	Name string `json:"name"` // of the MCP server
}

// endLogin takes the query of a redirect, here or at the server where the login was begun, and answers
// with how the login went.
func (s *Service) endLogin(w http.ResponseWriter, r *http.Request) error {
	u, err := s.userOf(r.Context())
	if err != nil {
		return err
	}
	sent, err := rest.Raw(r)
	if err != nil {
		return err
	}
	body, err := rest.BodyAs(r, redirectForm)
	if err != nil {
		return err
	}
	query := url.Values{}
	for _, f := range redirectForm.Fields {
		if text := body.Text(f.Name); text != "" {
			query.Set(f.Name, text)
		}
	}
	job, err := s.o.Logins.Answer(u.session(), query)
	if fault.Is(err, fault.NotFound) {
		again := r.WithContext(r.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
		if s.o.Replicas.PassLogin(w, again, u.login(query.Get("state"))) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	select {
	case <-job.Done():
	case <-r.Context().Done():
		return r.Context().Err()
	}
	raw, err := job.Result()
	out := ended{tested: testedWith(err)}
	if err == nil {
		if err := json.Unmarshal(raw, &out.Name); err != nil {
			return err
		}
	}
	return rest.JSON(w, http.StatusOK, out)
}

// loggedIn lists the MCP servers of the settings at which the user is logged in.
func (u user) loggedIn(*http.Request) (any, error) {
	doc, err := u.Load()
	if err != nil {
		return nil, err
	}
	logins, err := u.Service.Logins()
	if err != nil {
		return nil, err
	}
	names := []string{}
	servers := doc.Agent.Object("mcp_config")
	for _, name := range servers.Keys() {
		at := servers.Object(name).Text("url")
		if key, err := u.s.o.LoginKey(at); err == nil && slices.Contains(logins, key) {
			names = append(names, name)
		}
	}
	return map[string]any{"servers": names}, nil
}

// logOut removes the login at an MCP server of the settings, and has it revoked.
func (u user) logOut(r *http.Request) (any, error) {
	server, err := u.mcpServer(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	raw, err := schema.Encode(server)
	if err != nil {
		return nil, err
	}
	if _, err := u.s.o.LogOut(r.Context(), raw, u.Service); err != nil {
		return nil, err
	}
	return message{"Logged out"}, nil
}
