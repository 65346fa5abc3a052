package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/server/agentserver/mcp"
	client "github.com/deft-dev/deft/tool/mcp"
)

// TestOAuthCredentials tries an MCP server with the credentials of an OAuth login: with
// the client's registration and without, as they are and sealed. Each request carries
// the access token, and no answer shows it.
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
		got, err := client.Probe(ctx, p.Name, s, nil, p.Limit, p.Tool, p.Arguments)
		return mcp.Result(got), err
	}})
	const registration = `"authentication":{"type":"oauth","client_id":"c","client_secret":"client-secret","client_auth_method":"client_secret_post"}`
	for _, c := range []struct{ auth, want string }{
		{`"state":{"tokens":{"access_token":"` + token + `","refresh_token":"r"},"token_expires_at":9e9}`, `{"ok":true,"tools":["hello"]}`},
		{registration + `,"state":{"tokens":{"access_token":"` + token + `"},"client_info":{"client_id":"c"}}`, `{"ok":true,"tools":["hello"]}`},
		{registration + `,"state":{"tokens":{"access_token":"gAAAAA` + token + `"}}`, `{"ok":true,"tools":["hello"]}`},
		{`"state":{"tokens":{"access_token":"another-token"}}`, `"error_kind":"connection"`},
		{registration, "OAuth logins at MCP servers are not supported yet"},
	} {
		body := fmt.Sprintf(`{"server":{"type":"http","url":%q,"auth":{"strategy":"oauth2",%s}}}`, server.URL, c.auth)
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
