package build_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/spec"
)

// TestPrompts lists the prompts of a conversation's MCP servers, and none for an agent without any.
func TestPrompts(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	server.AddPrompt(&sdk.Prompt{Name: "plan", Description: "Plans", Arguments: []*sdk.PromptArgument{{Name: "page", Description: "which", Required: true}}}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{}, nil
	})
	server.AddPrompt(&sdk.Prompt{Name: "two words"}, nil)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(web.Close)
	b, err := build.New(build.Options{Dir: t.TempDir()})
	must.Succeed(t, err)
	list := func(servers *schema.Map) ([]session.PromptOffer, []string) {
		t.Helper()
		res, err := b.Build(t.Context(), session.BuildRequest{
			ID: event.NewConversationID(), Workspace: t.TempDir(), Model: llm.Info{Tools: true},
			Agent: &spec.Agent{IncludeDefaultTools: []string{"FinishTool"}, SystemPromptFilename: "system_prompt.j2", MCPServers: servers},
		})
		must.Succeed(t, err)
		defer func() { must.Report(t, res.Close(context.Background(), false)) }()
		return res.(session.Prompter).Prompts(t.Context())
	}
	offers, warnings := list(schema.Of("tracker", schema.Of("url", web.URL, "transport", "http")))
	want := []session.PromptOffer{{Command: "/tracker:plan", Server: "tracker", Description: "Plans", Arguments: []session.PromptArgument{{Name: "page", Description: "which", Required: true}}}}
	if d := cmp.Diff(want, offers); d != "" || len(warnings) != 1 {
		t.Errorf("warnings %q, prompts (-want +got):\n%s", warnings, d)
	}
	if offers, warnings = list(nil); len(offers) != 0 || len(warnings) != 0 {
		t.Errorf("without servers: %v, %v", offers, warnings)
	}
}
