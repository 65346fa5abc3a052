package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool/mcp"
)

// serveChanging is a server whose tool "toggle" adds or removes the tool "extra". It announces
// that before it answers.
func serveChanging() {
	extra := false
	answerByHand(func(r request) string {
		switch {
		case r.Method == "tools/list" && extra:
			return `{"tools":[{"name":"toggle","inputSchema":{"type":"object"}},{"name":"extra","inputSchema":{"type":"object"}}]}`
		case r.Method == "tools/list":
			return `{"tools":[{"name":"toggle","inputSchema":{"type":"object"}}]}`
		case r.Params.Name == "toggle":
			extra = !extra
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		return fine
	})
}

// TestChangeTakesEffect has a call change the tools: when it has returned, they are there, and a
// call of one that is gone says so.
func TestChangeTakesEffect(t *testing.T) {
	t.Parallel()
	var changes []string
	set := connect(t, map[string]mcp.Server{"local": overStdio("changing")}, mcp.Options{
		Changed: func(_ *mcp.Set, c mcp.Change) { changes = append(changes, c.String()) }, // within the calls
	})
	for _, want := range []string{"extra toggle", "toggle", "extra toggle", "toggle"} {
		if got := ask(t, set, "toggle", `{}`); got.IsError {
			t.Fatalf("toggle: %s", event.JoinText(got.Content))
		}
		if diff := cmp.Diff(want, names(set)); diff != "" {
			t.Errorf("tools right after the call (-want +got):\n%s", diff)
		}
	}
	added, gone := `The MCP server "local" has changed its tools. New tools: extra.`, `The MCP server "local" has changed its tools. Gone: extra.`
	if diff := cmp.Diff([]string{added, gone, added, gone}, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	got := set.Call(t.Context(), "extra", nil)
	if !got.IsError || !strings.Contains(event.JoinText(got.Content), `no MCP tool "extra" any more`) {
		t.Errorf("a call of a tool that is gone: %+v", got)
	}
}
