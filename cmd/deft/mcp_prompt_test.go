package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/internal/must"
)

// TestMCPPrompt has a task name a prompt of an MCP server: the model gets its text. One that the
// server lacks is told, and nothing runs.
func TestMCPPrompt(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: "Make a plan for the login page."}, reply: {tool_calls: [{name: finish, arguments: {message: "planned"}}]}}
`)
	inner := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	inner.AddPrompt(&sdk.Prompt{Name: "plan", Arguments: []*sdk.PromptArgument{{Name: "of", Required: true}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Make a plan for " + r.Params.Arguments["of"] + "."}}}}, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return inner }, nil))
	t.Cleanup(web.Close)
	config := filepath.Join(t.TempDir(), "servers.json")
	must.Succeed(t, os.WriteFile(config, fmt.Appendf(nil, `{"mcpServers": {"tracker": {"url": %q}}}`, web.URL), 0o600))
	if out := b.run(t, 0, "run", "-q", "--mcp-config", config, "/tracker:plan the login page"); !strings.Contains(out, "planned") {
		t.Errorf("run: %s", out)
	}
	if out := b.run(t, 2, "run", "-q", "--grace", "0s", "--mcp-config", config, "/tracker:other"); !strings.Contains(out, `has no prompt "other"`) || !strings.Contains(out, "/tracker:plan OF") {
		t.Errorf("another prompt: %s", out)
	}
	if out := b.run(t, 0, "conversations", "list", "--all"); strings.Count(out, "events") != 1 {
		t.Errorf("a conversation without a message is left: %s", out)
	}
}
