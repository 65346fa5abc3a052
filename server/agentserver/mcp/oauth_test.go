package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/oauthtest"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/server/agentserver/mcp"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/settings"
	client "github.com/deft-dev/deft/tool/mcp"
)

// TestOAuthCredentials tries an MCP server with the credentials of an OAuth login: with
// the client's registration and without, as they are and sealed. Each request carries
// the access token, and no answer shows it. A server that wants no login needs none.
func TestOAuthCredentials(t *testing.T) {
	t.Parallel()
	const token = "t0ken-of-login"
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		sdk.AddTool(s, &sdk.Tool{Name: "hello"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
		return s
	}, nil)
	open := httptest.NewServer(inner)
	t.Cleanup(open.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	ask := serve(t, mcp.Options{Keys: prefixKeys{}, Probe: func(ctx context.Context, p mcp.Probe) (mcp.Result, error) {
		s, err := client.ParseServer(p.Server)
		if err != nil {
			return mcp.Result{}, err
		}
		got, err := client.Probe(ctx, p.Name, s, client.Options{}, p.Limit, p.Tool, p.Arguments)
		return mcp.Result(got), err
	}})
	const registration = `,"authentication":{"type":"oauth","client_id":"c","client_secret":"client-secret","client_auth_method":"client_secret_post"}`
	for _, c := range []struct{ url, auth, want string }{
		{server.URL, `,"state":{"tokens":{"access_token":"` + token + `","refresh_token":"r"},"token_expires_at":9e9}`, `{"ok":true,"tools":["hello"]}`},
		{server.URL, registration + `,"state":{"tokens":{"access_token":"` + token + `"},"client_info":{"client_id":"c"}}`, `{"ok":true,"tools":["hello"]}`},
		{server.URL, registration + `,"state":{"tokens":{"access_token":"gAAAAA` + token + `"}}`, `{"ok":true,"tools":["hello"]}`},
		{server.URL, `,"state":{"tokens":{"access_token":"another-token"}}`, `it wants a login: log in by`},
		{open.URL, "", `{"ok":true,"tools":["hello"]}`},
		{open.URL, registration, `{"ok":true,"tools":["hello"]}`},
		{server.URL, "", "it wants a login"},
		{server.URL, registration, "it wants a login"},
	} {
		body := fmt.Sprintf(`{"server":{"type":"http","url":%q,"auth":{"strategy":"oauth2"%s}}}`, c.url, c.auth)
		status, got := ask("POST", "/api/mcp/test", body)
		if status != http.StatusOK || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d %s, want %s", c.auth, status, got, c.want)
		}
		for _, secret := range []string{token, "another-token", "client-secret"} {
			if strings.Contains(got, secret) {
				t.Errorf("%s: the answer shows %s: %s", c.auth, secret, got)
			}
		}
	}
}

// TestOAuthLogin logs in: the browser comes back to the server's port, or a person copies its
// address. The result has the tools, and the login with its secrets sealed; the same login is kept,
// so that the next start needs none.
func TestOAuthLogin(t *testing.T) {
	t.Parallel()
	for _, copied := range []bool{false, true} {
		t.Run(fmt.Sprint("copied ", copied), func(t *testing.T) {
			t.Parallel()
			inner := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
			sdk.AddTool(inner, &sdk.Tool{Name: "hello"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{}, nil, nil
			})
			as := oauthtest.Start(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return inner }, nil))
			own, err := settings.Open(t.Context(), settings.Options{Dir: t.TempDir()})
			must.Succeed(t, err)
			jobs := mcplogin.New()
			t.Cleanup(func() { must.Report(t, jobs.Close()) })
			ask := serve(t, mcp.Options{
				Keys: prefixKeys{}, Jobs: jobs, Logins: own,
				Probe: func(ctx context.Context, p mcp.Probe) (mcp.Result, error) {
					s, err := client.ParseServer(p.Server)
					must.Succeed(t, err)
					got, err := client.Probe(ctx, p.Name, s, client.Options{Logins: p.Logins}, p.Limit, p.Tool, p.Arguments)
					return mcp.Result(got), err
				},
				LogIn: func(ctx context.Context, r mcplogin.Request) (json.RawMessage, error) {
					s, err := client.ParseServer(r.Server)
					must.Succeed(t, err)
					return client.LogIn(ctx, s, client.LoginOptions{Redirect: r.Redirect, Visit: r.Visit, Logins: r.Logins})
				},
			})
			body := fmt.Sprintf(`{"timeout":100,"server":{"type":"http","url":%q,"auth":{"strategy":"oauth2"}}}`, as.URL)
			var began struct {
				OK      bool
				Job     string `json:"job_id"`
				Address string `json:"authorization_url"`
			}
			_, got := ask("POST", "/api/mcp/oauth/start", body)
			if err := json.Unmarshal([]byte(got), &began); err != nil || !began.OK || began.Address == "" {
				t.Fatalf("start: %s, %v", got, err)
			}
			at := "/api/mcp/oauth/status/" + began.Job
			if _, got := ask("GET", at, ""); !strings.Contains(got, `"status":"authorizing"`) || !strings.Contains(got, `"callback_ready":true`) {
				t.Errorf("status: %s", got)
			}
			to := as.Redirect(t, began.Address)
			if copied {
				for _, wrong := range []string{"nothing", "http://127.0.0.1/callback?code=x&state=forged"} {
					if status, got := ask("POST", "/api/mcp/oauth/callback/"+began.Job, fmt.Sprintf(`{"callback_url":%q}`, wrong)); status != 400 {
						t.Errorf("%s: %d %s", wrong, status, got)
					}
				}
				_, got = ask("POST", "/api/mcp/oauth/callback/"+began.Job, fmt.Sprintf(`{"callback_url":%q}`, to))
			} else {
				forged := *to
				forged.RawQuery = "code=x&state=forged"
				for _, visit := range []struct {
					url  string
					want int
				}{{forged.String(), http.StatusNotFound}, {to.String(), http.StatusOK}} {
					resp, err := http.Get(visit.url)
					must.Succeed(t, err)
					resp.Body.Close()
					if resp.StatusCode != visit.want {
						t.Errorf("%s: %s", visit.url, resp.Status)
					}
				}
				waittest.Until(t, "the login is done", func() bool {
					_, got = ask("GET", at, "")
					return !strings.Contains(got, "authorizing")
				})
			}
			if !strings.Contains(got, `"status":"succeeded"`) || !strings.Contains(got, `"tools":["hello"]`) || !strings.Contains(got, `"access_token":"gAAAAAaccess-`) || !strings.Contains(got, `"refresh_token":"gAAAAArefresh-`) {
				t.Errorf("result: %s", got)
			}
			var done struct {
				State json.RawMessage `json:"oauth_state"`
			}
			must.Succeed(t, json.Unmarshal([]byte(got), &done))
			as.Expire()
			tested := fmt.Sprintf(`{"timeout":100,"server":{"type":"http","url":%q,"auth":{"strategy":"oauth2","state":%s}}}`, as.URL, done.State)
			if _, got := ask("POST", "/api/mcp/test", tested); !strings.Contains(got, `"tools":["hello"]`) || !strings.Contains(got, `"oauth_state":{"tokens":{"access_token":"gAAAAAaccess-`) || as.Renewed() != 1 {
				t.Errorf("a test that renews: %s", got)
			}
			if _, got := ask("POST", "/api/mcp/oauth/start", body); !strings.Contains(got, `"ok":true`) || strings.Contains(got, "authorization_url") {
				t.Errorf("the second start: %s", got)
			}
			as.Revoke()
			as.Refuse = "access_denied"
			_, got = ask("POST", "/api/mcp/oauth/start", body)
			must.Succeed(t, json.Unmarshal([]byte(got), &began))
			_, got = ask("POST", "/api/mcp/oauth/callback/"+began.Job, fmt.Sprintf(`{"callback_url":%q}`, as.Redirect(t, began.Address)))
			if !strings.Contains(got, `"ok":false`) || !strings.Contains(got, "refused: access_denied") || !strings.Contains(got, `"status":"failed"`) {
				t.Errorf("refused: %s", got)
			}
		})
	}
}
