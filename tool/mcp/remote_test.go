package mcp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/mcp"
)

// otherOrigin is a server of another origin, which must not be asked. Its answer
// holds a value that no error may show.
func otherOrigin(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, leak)
	}))
	t.Cleanup(h.Close)
	return h.URL, asked
}

const leak = `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"stored-secret"}}`

// TestOtherOrigins has servers that redirect each kind of request to another
// origin, or name one for messages. It must not be asked, not even by the request
// that ends a session: a redirected DELETE has deleted things of another server.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	const within = "/moved"
	for name, tc := range map[string]struct {
		transport string
		method    string // that is redirected
		connects  bool
	}{
		"streamable, first message": {mcp.HTTP, http.MethodPost, false},
		"streamable, stream":        {mcp.HTTP, http.MethodGet, true},
		"streamable, end":           {mcp.HTTP, http.MethodDelete, true},
		"sse, stream":               {mcp.SSE, http.MethodGet, false},
		"sse, messages":             {mcp.SSE, http.MethodPost, false},
		"sse, endpoint":             {mcp.SSE, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other, asked := otherOrigin(t)
			server := newServer()
			choose := func(*http.Request) *sdk.Server { return server }
			var inner http.Handler = sdk.NewStreamableHTTPHandler(choose, nil)
			if tc.transport == mcp.SSE {
				inner = sdk.NewSSEHandler(choose, nil)
			}
			t.Cleanup(func() { // a DELETE that was redirected did not end its session
				for left := range server.Sessions() {
					left.Close()
				}
			})
			seen := make(chan string, 100)
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == tc.method && r.Header.Get("X-Key") != "k":
					t.Errorf("%s without its header", r.Method)
				case r.Method == tc.method && r.URL.Path != within: // first to itself, which is allowed
					http.Redirect(w, r, within, http.StatusTemporaryRedirect)
				case r.Method == tc.method:
					seen <- r.Method
					http.Redirect(w, r, other+"/api/secrets/A", http.StatusTemporaryRedirect)
				case tc.method == "" && r.Method == http.MethodGet:
					seen <- r.Method
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "event: endpoint\ndata: %s/api\n\n", other)
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				default:
					inner.ServeHTTP(w, r)
				}
			}))
			t.Cleanup(h.Close)
			set, warnings := mcp.Connect(t.Context(), map[string]mcp.Server{"web": {
				URL: h.URL, Transport: tc.transport, Auth: &mcp.Auth{Strategy: mcp.AuthAPIKey, HeaderName: "X-Key", Value: "k"},
			}}, mcp.Options{})
			if connected := len(warnings) == 0; connected != tc.connects {
				t.Errorf("warnings: %v", warnings)
			}
			for _, w := range warnings {
				if !strings.Contains(w.Error(), "another origin") || strings.Contains(w.Error(), "stored-secret") {
					t.Errorf("warning: %v", w)
				}
			}
			set.Close()
			if len(seen) == 0 {
				t.Error("no request was redirected")
			}
			if n := asked.Load(); n != 0 {
				t.Errorf("another origin was asked %d times", n)
			}
		})
	}
}

// TestStoredLogin uses the access token of an OAuth login that a client has stored.
func TestStoredLogin(t *testing.T) {
	t.Parallel()
	server := newServer()
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	open := httptest.NewServer(inner)
	t.Cleanup(open.Close)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0ken-of-login" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	for auth, want := range map[string]fault.Kind{
		`{"strategy":"oauth2","state":{"tokens":{"access_token":"t0ken-of-login","refresh_token":"r"},"token_expires_at":9e9}}`:        "",
		`{"strategy":"oauth2","authentication":{"type":"oauth","client_id":"c"},"state":{"tokens":{"access_token":"t0ken-of-login"}}}`: "",
		`{"strategy":"oauth2","state":{"tokens":{"access_token":"wrong-token"}}}`:                                                      fault.Auth,
		`{"strategy":"oauth2","state":{"tokens":{"access_token":"t0ken-of-login"},"token_expires_at":1}}`:                              fault.Auth,
		`{"strategy":"oauth2","authentication":{"type":"oauth","client_id":"c","client_secret":"s","client_auth_method":"none"}}`:      fault.Auth,
		`{"strategy":"oauth2"}`: fault.Auth,
	} {
		s, err := mcp.ParseServer([]byte(`{"url":"` + h.URL + `","auth":` + auth + `}`))
		must.Succeed(t, err)
		got, err := mcp.Probe(t.Context(), "x", s, mcp.Options{}, 2*time.Minute, "", nil)
		if want == "" && (err != nil || len(got.Tools) == 0) || want != "" && !fault.Is(err, want) {
			t.Errorf("%s: %v, error %v of kind %s, want %q", auth, got, err, fault.KindOf(err), want)
		}
		if err != nil && strings.Contains(err.Error(), "token-of") {
			t.Errorf("the token is shown: %v", err)
		}
		if strings.Contains(auth, "state") {
			continue
		}
		s.URL = open.URL // a server that wants no login
		if got, err := mcp.Probe(t.Context(), "x", s, mcp.Options{}, 2*time.Minute, "", nil); err != nil || len(got.Tools) == 0 {
			t.Errorf("%s, without a login: %v, error %v", auth, got, err)
		}
	}
}

// TestRedirectedErrors follows a redirect within the server to a page that is
// none of the protocol's.
func TestRedirectedErrors(t *testing.T) {
	t.Parallel()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/private", http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, leak)
	}))
	t.Cleanup(h.Close)
	set, warnings := mcp.Connect(t.Context(), map[string]mcp.Server{"web": {URL: h.URL + "/"}}, mcp.Options{})
	defer set.Close()
	if len(warnings) != 1 || strings.Contains(warnings[0].Error(), "stored-secret") {
		t.Errorf("warnings: %v", warnings)
	}
}
