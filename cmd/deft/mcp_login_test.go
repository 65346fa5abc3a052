package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/oauthtest"
)

// TestMCPLogin logs in at a server in the terminal. A run uses the login, which is sealed on the
// disk, and whose tokens are in no event; after the logout it has none, and the tokens are revoked.
func TestMCPLogin(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: ask the tracker}, reply: {tool_calls: [{name: hello, arguments: {}}]}}
  - {match: {user: ask the tracker}, reply: {tool_calls: [{name: finish, arguments: {message: "{{.LastToolResult}}"}}]}}
  - {match: {user: again}, repeat: 2, reply: {tool_calls: [{name: finish, arguments: {message: "Nothing."}}]}}
`)
	inner := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	var token string
	sdk.AddTool(inner, &sdk.Tool{Name: "hello"}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		token = strings.TrimPrefix(r.Extra.Header.Get("Authorization"), "Bearer ")
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello with " + token}}}, nil, nil
	})
	as := oauthtest.Start(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return inner }, nil))
	config := filepath.Join(t.TempDir(), "servers.json")
	must.Succeed(t, os.WriteFile(config, fmt.Appendf(nil, `{"mcpServers": {"tracker": {"url": %q}}}`, as.URL), 0o600))

	before := b.run(t, 0, "run", "--mcp-config", config, "again")
	if !strings.Contains(before, "MCP server tracker: connect: it wants a login: log in by `deft mcp login tracker`") {
		t.Errorf("without a login: %s", before)
	}
	p := b.start(t, "mcp", "login", "tracker", "--mcp-config", config)
	p.untilTimes(t, "\n\n", 2) // before and after the address
	p.mu.Lock()
	address := regexp.MustCompile(`http://\S+`).FindString(p.text.String())
	p.mu.Unlock()
	resp, err := http.Get(as.Redirect(t, address).String())
	must.Succeed(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the redirect is answered %s", resp.Status)
	}
	if code, out := p.wait(t); code != 0 || !strings.Contains(out, "You are logged in at "+as.URL) {
		t.Fatalf("login: %d %s", code, out)
	}
	if out := b.run(t, 0, "mcp", "logins"); strings.TrimSpace(out) != as.URL {
		t.Errorf("logins: %s", out)
	}
	out := b.run(t, 0, "run", "-q", "--mcp-config", config, "ask the tracker")
	if !strings.Contains(out, "hello with <secret-hidden>") || token == "" {
		t.Errorf("run: %s", out)
	}
	if found, err := exec.Command("grep", "-r", "-l", token, b.home, b.ws).CombinedOutput(); err == nil {
		t.Errorf("the token is in %s", found)
	}
	as.Revokes = true
	if out := b.run(t, 0, "mcp", "logout", as.URL); !strings.Contains(out, "removed from this machine and revoked") || as.Valid() {
		t.Errorf("logout: %s", out)
	}
	if out := b.run(t, 0, "run", "--mcp-config", config, "again"); !strings.Contains(out, "wants a login") {
		t.Errorf("after the logout: %s", out)
	}
}
