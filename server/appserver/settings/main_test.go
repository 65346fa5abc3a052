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
	"github.com/deft-dev/deft/server/appserver/settings"
	"github.com/deft-dev/deft/server/appserver/signin"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
	domain "github.com/deft-dev/deft/settings"
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

// probeMCP stands for the connection to an MCP server, which wants a token.
func probeMCP(_ context.Context, name string, server json.RawMessage, _ time.Duration) ([]string, error) {
	if !bytes.Contains(server, []byte("Bearer hush")) {
		return nil, fault.New(fault.Auth, "the MCP server "+name+" wants a token").Hint("give it one")
	}
	return []string{"search", "fetch"}, nil
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
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		t.Fatal(err)
	}
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
			one, err := domain.Open(ctx, domain.Options{Dir: filepath.Join(s.dir, string(owner)), Keys: ring, Log: log})
			if err != nil {
				return nil, err
			}
			open[owner] = one
		}
		return open[owner], nil
	}
	service := settings.New(settings.Options{Of: s.of, Keys: keys, Sandboxes: s.store, Tokens: hosts{}, Began: time.Now(), Log: log, ProbeMCP: probeMCP})
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
		default:
			return c, fault.New(fault.Auth, "not signed in")
		}
		return c, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", who)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	out := answer{Status: resp.StatusCode, Text: string(raw)}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(raw, &out.Body); err != nil {
			s.t.Fatal(err)
		}
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
	if pattern == "" && !strings.HasPrefix(path, "/api/v1/settings/mcp-servers/") { // that is Deft's own
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
