package build_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/spec"
)

// TestToolsOfServersChange has an MCP server get another tool: the agent has it then, between
// its own and the client's, and so have sub-agents.
func TestToolsOfServersChange(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string) {
		sdk.AddTool(server, &sdk.Tool{Name: name}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
	}
	add("first")
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(web.Close)
	b, err := build.New(build.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	notes := make(chan string, 1)
	request := session.BuildRequest{
		ID: event.NewConversationID(), Workspace: t.TempDir(), Model: llm.Info{Tools: true},
		Agent: &spec.Agent{
			IncludeDefaultTools: []string{"FinishTool"}, SystemPromptFilename: "system_prompt.j2",
			MCPServers: schema.Of("web", schema.Of("url", web.URL, "transport", "http")),
		},
		ToolsChanged: func(note string) { notes <- note },
	}
	res, err := b.Build(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := res.Close(context.Background(), false); err != nil {
			t.Error(err)
		}
	}()
	if got := names(t, res.Agent()); !slices.Equal(got, []string{"finish", "first"}) {
		t.Fatalf("tools %v, warnings %v", got, res.Warnings())
	}
	add("second")
	if note := <-notes; note != `The MCP server "web" has changed its tools. New tools: second.` {
		t.Errorf("note %q", note)
	}
	want := []string{"finish", "first", "second"}
	if got := names(t, res.Agent()); !slices.Equal(got, want) {
		t.Errorf("tools %v, want %v", got, want)
	}
	own := request
	own.ID = event.NewConversationID()
	guest, err := res.(session.Host).Guest(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, guest.Agent()); !slices.Equal(got, want) {
		t.Errorf("tools of a sub-agent %v, want %v", got, want)
	}
}
