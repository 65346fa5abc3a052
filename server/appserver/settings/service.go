// Package settings serves the configuration of a user of the App Server below /api/v1:
// settings, secrets, tokens of Git hosts, LLM profiles, API keys, the user, his organization, and everything
// that is the same for all users: models and the configuration of the web client (the
// contract of OpenHands' cloud). Package settings at the top does the work.
//
// # One truth
//
// The flat fields (llm_model, confirmation_mode ...) and the documents (agent_settings,
// conversation_settings) are two views of the document that agent servers show. Null never
// overwrites stored values, but for the few fields whose null means none (nullable). No
// answer has a secret, with two exceptions, which are logged: users/me shows the owner's own
// to a program with an API key, and a sandbox looks up by name what it was given.
//
// # Usage
//
//	s := settings.New(settings.Options{Of: settingsOf, Keys: keys, Sandboxes: sandboxes})
//	routes := s.Routes()
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. Callers must be authenticated (package identity).
// Errors have the form of the contract: {"detail": …}.
package settings

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings"
)

// Keys are the API keys of programs, of which only hashes are stored.
type Keys interface {
	NewKey(ctx context.Context, owner identity.Tenant, name string, lasts time.Duration) (store.Credential, string, error)
	Keys(ctx context.Context, owner identity.Tenant) ([]store.Credential, error)
	// DeleteKey revokes a key. NotFound if the owner has none of that id.
	DeleteKey(ctx context.Context, owner identity.Tenant, id string) error
}

// Sandboxes finds the sandbox that has a session key, Auth if there is none.
type Sandboxes interface {
	SandboxOfKey(ctx context.Context, key string) (store.Sandbox, error)
	// GivenSecrets returns the names of the secrets that a sandbox may read.
	GivenSecrets(ctx context.Context, owner, id string) ([]string, error)
}

// TokenChecker asks a Git host whether a token is valid.
type TokenChecker interface {
	// CheckToken returns the user whose token it is. Auth if the host refuses it.
	CheckToken(ctx context.Context, provider string, token settings.ProviderToken) (userID string, err error)
	// CanRenew returns why tokens of a provider's host cannot be renewed, or nil.
	CanRenew(provider, host string) error
}

// Replicas are the servers on the same database: a browser that comes back from a login page may reach
// another one than it began at.
type Replicas interface {
	// HoldLogin has the other servers know, until release is called, that this one has a login under way.
	HoldLogin(ctx context.Context, login string) (release func(), err error)
	// PassLogin has the server that has a login under way answer the request. It returns false if no other one
	// has it.
	PassLogin(w http.ResponseWriter, r *http.Request, login string) bool
}

// Options configure a Service.
type Options struct {
	// Of returns the settings of an owner.
	Of        func(ctx context.Context, owner identity.Tenant) (*settings.Service, error)
	Keys      Keys
	Sandboxes Sandboxes
	// Tokens checks tokens of Git hosts before they are stored; nil stores them as they
	// are.
	Tokens TokenChecker
	// ProbeMCP asks an MCP server for the names of its tools, within a time that holds for
	// connecting and for listing. The server is an entry of mcp_config, with secrets in the
	// clear; this machine connects to it, with the caller's logins, and runs no program.
	ProbeMCP func(ctx context.Context, name string, server json.RawMessage, limit time.Duration, logins mcplogin.Logins) (tools []string, err error)
	// LogIn logs in at an MCP server, and LogOut out. Logins are the logins under way here, Replicas
	// know of those at other servers, and LoginKey is the key of the login at an address. URL is where the browser of a request reaches the server.
	LogIn    mcplogin.LogIn
	LogOut   mcplogin.LogOut
	Logins   *mcplogin.Jobs
	Replicas Replicas
	LoginKey func(address string) (string, error)
	URL      func(r *http.Request) string
	// TryMCP does the same with one that is a program, in a sandbox as new conversations have it.
	// Unsupported where there is none to try it in.
	TryMCP func(ctx context.Context, name string, server json.RawMessage, limit time.Duration) (tools []string, err error)
	// Limits returns the limits of an owner's new conversations.
	Limits func(ctx context.Context, owner identity.Tenant) (session.Limits, error)
	// Networks are what commands of a task may reach, by default the first one; none where that
	// is not limited.
	Networks []string
	// Began is when the server started.
	Began time.Time
	Log   *slog.Logger
}

// Service has the routes.
type Service struct {
	o      Options
	models func() models
	trying *semaphore.Weighted // held while a sandbox is tried: one at a time
}

// New returns a service.
func New(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{o: o, models: sync.OnceValue(listModels), trying: semaphore.NewWeighted(1)}
}

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	const v1, profile = "/api/v1/settings", "/api/v1/settings/profiles/{name}"
	r := func(tag, method, path string, h rest.Valued) rest.Route {
		return rest.Route{Method: method, Path: path, Tag: tag, Limit: 1 << 20, Scope: rest.Account, Handle: rest.Value(h)}
	}
	made := func(tag, path string, h rest.Valued) rest.Route {
		out := r(tag, "POST", path, h)
		out.Handle = rest.Created(h)
		return out
	}
	scope := func(r rest.Route, s identity.Scope, limit int64) rest.Route {
		r.Scope, r.Limit = s, limit
		return r
	}
	return append(s.organizations(), []rest.Route{
		r("Settings", "GET", v1, s.user(user.get)),
		r("Settings", "POST", v1, rest.Worded(s.user(user.post))),
		r("Settings", "GET", v1+"/agent-schema", agentSchema),
		r("Settings", "GET", v1+"/conversation-schema", conversationSchema),
		r("Settings", "GET", v1+"/local-models", s.user(user.local)),
		r("Settings", "GET", v1+"/limits", s.user(user.limits)),
		r("Settings", "POST", v1+"/test", s.user(user.testModel)),
		rest.Costly(r("Settings", "POST", v1+"/mcp-servers/{name}/test", s.user(user.testServer))),
		r("Settings", "GET", v1+"/mcp-servers/logins", s.user(user.loggedIn)),
		rest.Audited(rest.Route{Method: "POST", Path: v1 + "/mcp-servers/logins", Tag: "Settings", Limit: 1 << 20, Scope: rest.Account, Handle: s.endLogin}),
		rest.Costly(rest.Audited(r("Settings", "POST", v1+"/mcp-servers/{name}/login", s.user(user.beginLogin)))),
		rest.Audited(r("Settings", "DELETE", v1+"/mcp-servers/{name}/login", s.user(user.logOut))),
		r("Settings", "POST", v1+"/import", s.user(user.takeOver)),
		r("Settings", "POST", profile+"/test", s.user(user.testProfile)),
		r("Settings", "GET", v1+"/profiles", s.user(user.listProfiles)),
		r("Settings", "GET", profile, s.user(user.getProfile)),
		made("Settings", profile, s.user(user.saveProfile)),
		r("Settings", "DELETE", profile, s.user(user.deleteProfile)),
		r("Settings", "POST", profile+"/activate", s.user(user.activateProfile)),
		r("Settings", "POST", profile+"/rename", s.user(user.renameProfile)),
		rest.Audited(r("Secrets", "POST", "/api/v1/secrets/git-providers", s.user(user.setTokens))),
		rest.Audited(r("Secrets", "DELETE", "/api/v1/secrets/git-providers", s.user(user.unsetTokens))),
		r("Secrets", "GET", "/api/v1/secrets/search", s.user(user.searchSecrets)),
		rest.Audited(made("Secrets", "/api/v1/secrets", s.user(user.saveSecret))),
		rest.Audited(r("Secrets", "PUT", "/api/v1/secrets/{secret_id}", s.user(user.changeSecret))),
		rest.Audited(r("Secrets", "DELETE", "/api/v1/secrets/{secret_id}", s.user(user.deleteSecret))),
		scope(r("Sandboxes", "GET", "/api/v1/sandboxes/{sandbox_id}/settings/secrets", s.sandboxSecrets), rest.Inside, 0),
		{Method: "GET", Path: "/api/v1/sandboxes/{sandbox_id}/settings/secrets/{secret_name}", Tag: "Sandboxes", Scope: rest.Inside, Audited: true, Handle: s.sandboxSecret},
		r("User", "GET", "/api/v1/users/me", s.user(user.me)),
		r("Config", "GET", "/api/v1/config/models/search", s.searchModels),
		r("Config", "GET", "/api/v1/config/providers/search", s.searchProviders),
		scope(r("Config", "GET", "/api/v1/web-client/config", s.webClient), rest.Public, rest.NoBody),
		r("Keys", "GET", "/api/keys", s.listKeys),
		rest.Audited(r("Keys", "POST", "/api/keys", s.createKey)),
		rest.Audited(r("Keys", "DELETE", "/api/keys/{key_id}", s.deleteKey)),
		r("Keys", "GET", "/api/keys/current", s.currentKey),
	}...)
}

// user is the caller of a request with his settings.
type user struct {
	*settings.Service
	s      *Service
	caller identity.Caller
}

// handler answers a request for its caller.
type handler func(u user, r *http.Request) (any, error)

// user finds the caller's settings.
func (s *Service) user(h handler) rest.Valued {
	return func(r *http.Request) (any, error) {
		u, err := s.userOf(r.Context())
		if err != nil {
			return nil, err
		}
		return h(u, r)
	}
}

func (s *Service) userOf(ctx context.Context) (user, error) {
	caller, err := person(ctx)
	if err != nil {
		return user{}, err
	}
	service, err := s.o.Of(ctx, caller.Tenant())
	return user{service, s, caller}, err
}

// person returns the caller, which must be a user or a user's program: programs in
// a sandbox have no right to its owner's settings.
func person(ctx context.Context) (identity.Caller, error) {
	caller := identity.CallerOf(ctx)
	switch {
	case caller.Tenant() == "":
		return caller, fault.New(fault.Auth, "not signed in")
	case !caller.May(identity.Account):
		return caller, fault.New(fault.Denied, "the key of a sandbox gives no access to settings")
	}
	return caller, nil
}

// message is the answer to a change.
type message struct {
	Message string `json:"message"`
}
