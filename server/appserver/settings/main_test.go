package settings_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/settings"
	"github.com/deft-dev/deft/server/appserver/signin"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	domain "github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hosts stands for Git hosts: the token "wrong" is refused.
type hosts struct{}

func (hosts) CanRenew(provider, _ string) error {
	if provider != "gitlab" {
		return fault.New(fault.Unsupported, "not renewed")
	}
	return nil
}

func (hosts) CheckToken(_ context.Context, _ string, t domain.ProviderToken) (string, error) {
	if t.Token == "wrong" {
		return "", fault.New(fault.Auth, "bad credentials")
	}
	return "user-1", nil
}

// ping stands for a call of a model: one whose address is "dead" has none behind it.
func ping(_ context.Context, l *spec.LLM) error {
	switch {
	case l.BaseURL != nil && strings.Contains(*l.BaseURL, "dead"):
		return fault.New(fault.Unavailable, "no connection with "+l.APIKey.Reveal())
	case l.BaseURL != nil && strings.Contains(*l.BaseURL, "slow"):
		return context.DeadlineExceeded
	}
	return nil
}

// probeMCP stands for the connection to an MCP server, which wants a token.
func probeMCP(_ context.Context, name string, server json.RawMessage, _ time.Duration, _ mcplogin.Logins) ([]string, error) {
	if !bytes.Contains(server, []byte("Bearer hush")) {
		return nil, fault.New(fault.Auth, "the MCP server "+name+" wants a token").Hint("give it one")
	}
	return []string{"search", "fetch"}, nil
}

// logInMCP logs in at an MCP server.
func logInMCP(ctx context.Context, r mcplogin.Request) (json.RawMessage, error) {
	s, err := mcp.ParseServer(r.Server)
	if err != nil {
		return nil, err
	}
	return mcp.LogIn(ctx, s, mcp.LoginOptions{Redirect: r.Redirect, Visit: r.Visit, Logins: r.Logins})
}

func logOutMCP(ctx context.Context, server json.RawMessage, logins mcplogin.Logins) (bool, error) {
	s, err := mcp.ParseServer(server)
	if err != nil {
		return false, err
	}
	return mcp.LogOut(ctx, s, logins)
}

// alone is the only server on its database.
type alone struct{}

func (alone) HoldLogin(context.Context, string) (func(), error)         { return func() {}, nil }
func (alone) PassLogin(http.ResponseWriter, *http.Request, string) bool { return false }

// tryMCP stands for the start of an MCP server in a sandbox.
func tryMCP(_ context.Context, _ string, server json.RawMessage, _ time.Duration) ([]string, error) {
	if !bytes.Contains(server, []byte(`"command":"touch"`)) {
		return nil, fault.New(fault.Unavailable, "no such program")
	}
	return []string{"list"}, nil
}

// server is the settings of some owners, over HTTP.
type server struct {
	t       *testing.T
	url     string
	dir     string
	store   *store.Store
	log     *bytes.Buffer
	of      func(ctx context.Context, owner identity.Tenant) (*domain.Service, error)
	schemas map[string]*jsonschema.Resolved
}

// serve starts a server. A request says whose it is by the scheme of its credentials.
func serve(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, dir: t.TempDir(), log: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(&locked{to: s.log}, nil))
	ring := keyring.New("master")
	source, err := store.SQLiteSource(filepath.Join(s.dir, "app.sqlite"))
	must.Succeed(t, err)
	db, err := sql.Open("sqlite", source)
	must.Succeed(t, err)
	if s.store, err = store.Open(t.Context(), db, store.SQLite, ring); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.store.Close() })
	keys := signin.New(signin.Options{Store: s.store, Secure: func(*http.Request) bool { return false }, Log: log})
	var mu sync.Mutex
	open := map[identity.Tenant]*domain.Service{}
	s.of = func(ctx context.Context, owner identity.Tenant) (*domain.Service, error) {
		mu.Lock()
		defer mu.Unlock()
		if open[owner] == nil {
			one, err := domain.Open(ctx, domain.Options{Dir: filepath.Join(s.dir, string(owner)), Keys: ring, Log: log, Ping: ping})
			if err != nil {
				return nil, err
			}
			open[owner] = one
		}
		return open[owner], nil
	}
	jobs := mcplogin.New()
	t.Cleanup(func() { must.Report(t, jobs.Close()) })
	service := settings.New(settings.Options{Logins: jobs, Replicas: alone{}, LogIn: logInMCP, LogOut: logOutMCP, LoginKey: mcp.LoginKey, URL: func(*http.Request) string { return "https://deft.example" }, Of: s.of, Keys: keys, Sandboxes: s.store, Tokens: hosts{}, Began: time.Now(), Log: log, ProbeMCP: probeMCP, TryMCP: tryMCP, Networks: []string{"none", "go,npm"},
		Limits: func(context.Context, identity.Tenant) (session.Limits, error) {
			return session.Limits{MaxIterations: 40, MaxCost: 2}, nil
		}})
	h, err := rest.New(rest.Options{Routes: service.Routes(), Log: log, Authenticate: func(r *http.Request) (identity.Caller, error) {
		scheme, who, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		c := identity.Local()
		c.User, c.Method = identity.User(who), identity.Cookie
		switch scheme {
		case "Key":
			c.Method, c.Credential = identity.APIKey, "none"
		case "Sandbox":
			c = identity.InSandbox(identity.Tenant(who), "")
		case "Bearer", "":
			return keys.Authenticate(r)
		case "Cookie":
			c.Credential = r.Header.Get("X-Browser")
		default:
			return c, fault.New(fault.Auth, "not signed in")
		}
		return c, nil
	}})
	must.Succeed(t, err)
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	s.url = web.URL
	if s.schemas, err = contract(); err != nil {
		t.Fatal(err)
	}
	return s
}

// locked is a writer for several goroutines.
type locked struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

// contract has the schemas of the contracts' answers by document, method, path and
// status.
var contract = sync.OnceValues(func() (map[string]*jsonschema.Resolved, error) {
	raw, err := os.ReadFile(filepath.Join("testdata", "contract.json"))
	if err != nil {
		return nil, err
	}
	var all map[string]struct {
		Responses map[string]map[string]map[string]any `json:"responses"`
		Defs      map[string]any                       `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	out := map[string]*jsonschema.Resolved{}
	for name, document := range all {
		for operation, statuses := range document.Responses {
			for status, answer := range statuses {
				answer["$defs"] = document.Defs
				encoded, err := json.Marshal(answer)
				if err != nil {
					return nil, err
				}
				var schema jsonschema.Schema
				if err := json.Unmarshal(encoded, &schema); err != nil {
					return nil, err
				}
				if out[name+" "+operation+" "+status], err = schema.Resolve(nil); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
})

// operationOf returns the pattern of a path in the contracts, "" for none.
func (s *server) operationOf(method, path string) string {
	best := ""
	for key := range s.schemas {
		_, operation, _ := strings.Cut(key, " ")
		m, rest, _ := strings.Cut(operation, " ")
		pattern, _, _ := strings.Cut(rest, " ")
		if m == method && matches(pattern, path) && (best == "" || strings.Count(pattern, "{") < strings.Count(best, "{")) {
			best = pattern
		}
	}
	return best
}

func matches(pattern, path string) bool {
	a, b := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(a[i], "{") {
			return false
		}
	}
	return true
}

// answer is the answer to a request.
type answer struct {
	Status int
	Body   any
	Text   string
}

// do sends a request as who, such as "Cookie alice", and checks that a success fits the
// schema of the contract.
func (s *server) do(who, method, path, body string, headers ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	must.Succeed(s.t, err)
	req.Header.Set("Authorization", who)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	must.Succeed(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	must.Succeed(s.t, err)
	out := answer{Status: resp.StatusCode, Text: string(raw)}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		must.Succeed(s.t, json.Unmarshal(raw, &out.Body))
	}
	if resp.StatusCode < 300 {
		s.check(method, path, out)
	}
	return out
}

func (s *server) check(method, path string, got answer) {
	s.t.Helper()
	path, _, _ = strings.Cut(path, "?")
	pattern := s.operationOf(method, path)
	own := strings.HasPrefix(path, "/api/v1/settings/mcp-servers/") || path == "/api/v1/settings/test" || path == "/api/v1/settings/limits"
	if pattern == "" && !own {
		s.t.Errorf("%s %s is not in the contract", method, path)
	}
	for _, document := range []string{"openhands-cloud", "V0_openapi"} {
		prefix := document + " " + method + " " + pattern + " "
		for key, schema := range s.schemas {
			status, ok := strings.CutPrefix(key, prefix)
			if !ok {
				continue
			}
			if document == "openhands-cloud" && status != "200" && status != "201" {
				continue
			}
			if err := schema.Validate(got.Body); err != nil {
				s.t.Errorf("%s %s does not fit %s: %v\n%s", method, path, document, err, got.Text)
			}
		}
	}
}

// want is do for a request that must get a status.
func (s *server) want(status int, who, method, path, body string, headers ...string) answer {
	s.t.Helper()
	got := s.do(who, method, path, body, headers...)
	if got.Status != status {
		s.t.Errorf("%s %s %s: %d, want %d: %s", who, method, path, got.Status, status, got.Text)
	}
	return got
}

// at returns the value below some keys of a JSON value.
func at(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}
