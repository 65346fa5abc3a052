package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/mcp"
)

func getPrompt(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	return &sdk.GetPromptResult{}, nil
}

// TestPromptOffers lists the prompts of servers with commands that name them, which hostile names
// do not: their servers' other prompts are there, bounded, and a warning counts the rest.
func TestPromptOffers(t *testing.T) {
	t.Parallel()
	servers := map[string]mcp.Server{}
	serve := func(name string, prompts ...*sdk.Prompt) {
		s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, &sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{Prompts: &sdk.PromptCapabilities{}}})
		for _, p := range prompts {
			s.AddPrompt(p, getPrompt)
		}
		servers[name], _ = overHTTP(t, s)
	}
	serve("my web",
		&sdk.Prompt{Name: "plan", Description: "Plans\x1b[2J a page for s3cret", Arguments: []*sdk.PromptArgument{{Name: "page", Description: "which\u202e", Required: true}, {Name: "about"}}},
		&sdk.Prompt{Name: "titled", Title: strings.Repeat("z", 496) + "s3cret"},
		&sdk.Prompt{Name: "two words"}, &sdk.Prompt{Name: "hid\U000E0041den"}, &sdk.Prompt{Name: strings.Repeat("x", 201)}, &sdk.Prompt{Name: "s3cret"},
		&sdk.Prompt{Name: "long", Description: strings.Repeat("y", 1000), Arguments: manyArguments()},
	)
	serve("my_web", &sdk.Prompt{Name: "plan"}) // its commands mean "my web"
	serve("empty")
	var many []*sdk.Prompt
	for i := range 300 {
		many = append(many, &sdk.Prompt{Name: fmt.Sprintf("p%03d", i)})
	}
	serve("z", many...)
	set := connect(t, servers, mcp.Options{Mask: func(s string) string { return strings.ReplaceAll(s, "s3cret", "<masked>") }})
	offers, warnings := set.Prompts(t.Context())
	want := []mcp.PromptOffer{
		{Command: "/my_web:long", Server: "my web", Description: strings.Repeat("y", 500) + "…", Arguments: make([]mcp.PromptArgument, 20)},
		{Command: "/my_web:plan", Server: "my web", Description: "Plans a page for <masked>", Arguments: []mcp.PromptArgument{{"page", "which", true}, {Name: "about"}}},
		{Command: "/my_web:titled", Server: "my web", Description: strings.Repeat("z", 496) + "<mas…"},
	}
	for i := range want[0].Arguments {
		want[0].Arguments[i].Name = strings.Repeat("n", 50) + "…"
	}
	if len(offers) != 200 {
		t.Fatalf("%d prompts", len(offers))
	}
	if d := cmp.Diff(want, offers[:3]); d != "" {
		t.Errorf("prompts (-want +got):\n%s", d)
	}
	if offers[3].Command != "/z:p000" || offers[199].Command != "/z:p196" {
		t.Errorf("the others: %+v … %+v", offers[3], offers[199])
	}
	const left = " of its prompts are not listed: there are too many, or no command can name them"
	if got := fmt.Sprint(warnings); got != "[MCP server my web: 4"+left+" MCP server my_web: 1"+left+" MCP server z: 103"+left+"]" {
		t.Errorf("warnings: %s", got)
	}
	if got, err := set.Prompt(t.Context(), offers[2].Command); err != nil || !strings.Contains(got, `"titled" of the MCP server "my web"`) {
		t.Errorf("a command of the list: %q, %v", got, err)
	}
}

func manyArguments() (all []*sdk.PromptArgument) {
	for range 30 {
		all = append(all, &sdk.PromptArgument{Name: strings.Repeat("n", 100)})
	}
	return all
}

// TestHostilePrompts lists prompts of a server whose answers no library of ours would send: what is null is
// left out, and an error of any length is one line of a warning.
func TestHostilePrompts(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	const answer = `{"prompts":[null,{"name":"twice","arguments":[null,{"name":"a"}]},{"name":"twice"},{"name":""}]}`
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		must.Report(t, err)
		body := string(raw)
		_, id, _ := strings.Cut(body, `"id":`)
		id, _, _ = strings.Cut(strings.TrimRight(id, "}\n"), ",")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case strings.Contains(body, `"initialize"`):
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"prompts":{}},"serverInfo":{"name":"x","version":"1"}}}`, id)
		case strings.Contains(body, `"prompts/list"`) && fails.Load():
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q}}`, id, strings.Repeat("no ", 10000))
		case strings.Contains(body, `"prompts/list"`):
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, answer)
		case strings.Contains(body, `"tools/list"`):
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, id)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(web.Close)
	set := connect(t, map[string]mcp.Server{"odd": {URL: web.URL, Transport: mcp.HTTP}}, mcp.Options{})
	offers, warnings := set.Prompts(t.Context())
	if d := cmp.Diff([]mcp.PromptOffer{{Command: "/odd:twice", Server: "odd", Arguments: []mcp.PromptArgument{{Name: "a"}}}}, offers); d != "" {
		t.Errorf("prompts (-want +got):\n%s", d)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "1 of its prompts") {
		t.Errorf("warnings: %v", warnings)
	}
	if _, err := set.Prompt(t.Context(), "/odd:other"); err == nil || !strings.Contains(err.Error(), "no prompt") {
		t.Errorf("another prompt: %v", err)
	}
	fails.Store(true)
	offers, warnings = set.Prompts(t.Context())
	if len(offers) != 0 || len(warnings) != 1 || len(warnings[0].Error()) > 600 || !strings.Contains(warnings[0].Error(), "list its prompts") {
		t.Errorf("after an error: %v, %.700v", offers, warnings)
	}
}
