package mcp_test

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/tool/mcp"
)

// TestLocal: a server of this process needs no connection, keeps the names of its tools,
// and hides a configured server of its name.
func TestLocal(t *testing.T) {
	t.Parallel()
	server := newServer()
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	first, _ := overHTTP(t, newServer())
	second, _ := overHTTP(t, newServer())
	set := connect(t, map[string]mcp.Server{"one": first, "two": second, "own": {URL: "http://127.0.0.1:1"}}, mcp.Options{Local: mcp.Local{"own": h}})
	got := " " + names(set) + " "
	for _, want := range []string{" echo ", " one_echo ", " two_echo "} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if o := ask(t, set, "echo", `{"text":"hello"}`); len(o.Content) == 0 || o.IsError {
		t.Errorf("%+v", o)
	}
	if o := ask(t, set, "fail", `{}`); !o.IsError {
		t.Errorf("%+v", o)
	}
}
