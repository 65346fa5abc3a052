package build_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
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
	must.Succeed(t, err)
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
	must.Succeed(t, err)
	defer func() { must.Report(t, res.Close(context.Background(), false)) }()
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
	must.Succeed(t, err)
	if got := names(t, guest.Agent()); !slices.Equal(got, want) {
		t.Errorf("tools of a sub-agent %v, want %v", got, want)
	}
}

// TestServersOfGuest gives a sub-agent a server of its own beside its host's, which the host
// does not see and which ends with the sub-agent.
func TestServersOfGuest(t *testing.T) {
	t.Parallel()
	serve := func(tool string) *httptest.Server {
		server := sdk.NewServer(&sdk.Implementation{Name: tool, Version: "1"}, nil)
		sdk.AddTool(server, &sdk.Tool{Name: tool}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "by " + tool}}}, nil, nil
		})
		web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
		t.Cleanup(web.Close)
		return web
	}
	of := func(web *httptest.Server) *schema.Map { return schema.Of("url", web.URL, "transport", "http") }
	shared, own := of(serve("shared")), of(serve("special"))
	b, err := build.New(build.Options{Dir: t.TempDir()})
	must.Succeed(t, err)
	agent := func(servers *schema.Map) *spec.Agent {
		return &spec.Agent{IncludeDefaultTools: []string{"FinishTool"}, SystemPromptFilename: "system_prompt.j2", MCPServers: servers}
	}
	request := session.BuildRequest{ID: event.NewConversationID(), Workspace: t.TempDir(), Model: llm.Info{Tools: true}, Agent: agent(schema.Of("shared", shared))}
	res, err := b.Build(t.Context(), request)
	must.Succeed(t, err)
	defer func() { must.Report(t, res.Close(context.Background(), false)) }()
	request.ID, request.Agent = event.NewConversationID(), agent(schema.Of("shared", shared, "special", own, "gone", schema.Of("url", "http://127.0.0.1:1/", "transport", "http")))
	guest, err := res.(session.Host).Guest(t.Context(), request)
	must.Succeed(t, err)
	if got := names(t, guest.Agent()); !slices.Equal(got, []string{"finish", "shared", "special_special"}) {
		t.Errorf("tools of the sub-agent: %v", got)
	}
	if got := names(t, res.Agent()); !slices.Equal(got, []string{"finish", "shared"}) {
		t.Errorf("tools of its host: %v", got)
	}
	if all := guest.Warnings(); len(all) != 1 || !strings.Contains(all[0], "gone") {
		t.Errorf("warnings %q", all)
	}
	for name, want := range map[string]string{"shared": "by shared", "special_special": "by special"} {
		obs, err := guest.Local().Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID(), Tool: name, Action: &event.MCPToolAction{}}})
		must.Succeed(t, err)
		if got := event.JoinText(obs.Result().Content); !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	must.Succeed(t, guest.Close(t.Context(), false))
	if obs, err := res.Local().Execute(t.Context(), tool.Request{Call: tool.Call{ID: event.NewID(), Tool: "shared", Action: &event.MCPToolAction{}}}); err != nil || obs.Result().IsError {
		t.Errorf("the host's server after the end of the sub-agent: %v, %v", obs, err)
	}
}
