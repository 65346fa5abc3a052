package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/mcp"
)

func TestParseServers(t *testing.T) {
	t.Parallel()
	got, err := mcp.ParseServers(json.RawMessage(`{"mcpServers":{
		"a":{"command":"npx","args":["-y","x"],"env":{"K":"v"},"network":["x.org"],"unknown":1},
		"b":{"type":"shttp","url":"https://x/mcp","auth":{"strategy":"bearer","value":"t"},"enabled":false}}}`))
	must.Succeed(t, err)
	off := false
	want := map[string]mcp.Server{
		"a": {Command: "npx", Args: []string{"-y", "x"}, Env: map[string]string{"K": "v"}, Network: []string{"x.org"}},
		"b": {URL: "https://x/mcp", Transport: mcp.HTTP, Auth: &mcp.Auth{Strategy: mcp.AuthBearer, Value: "t"}, Enabled: &off},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	for raw, why := range map[string]string{
		`[]`:                           "not an object",
		`{"a":null}`:                   "not an object",
		`{"a":{}}`:                     "'command' or 'url'",
		`{"a":{"transport":"stdio"}}`:  "require 'command'",
		`{"a":{"transport":"sse"}}`:    "require 'url'",
		`{"a":{"transport":"pigeon"}}`: "transport must be",
		`{"a":{"url":"https://x","network":["x"]}}`:                                    "'network' is for servers with a 'command'",
		`{"a":{"url":"x","auth":{"strategy":"magic"}}}`:                                "no auth strategy",
		`{"a":{"url":"x","headers":{"authorization":"y"},"auth":{"strategy":"none"}}}`: "cannot be combined",
	} {
		_, err := mcp.ParseServers(json.RawMessage(raw))
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: error %v, want one with %q", raw, err, why)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	find := func(name string) (string, bool) { return "<" + name + ">${A}", name != "MISSING" }
	got := mcp.Expand(mcp.Server{
		Command: "${A}", Args: []string{"$A", "${MISSING}", "${MISSING:-d}"}, Headers: map[string]string{"H": "x${B:-d}"},
	}, find)
	want := mcp.Server{
		Command: "<A>${A}", Args: []string{"$A", "${MISSING}", "d"}, Headers: map[string]string{"H": "x<B>${A}"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("expanded (-want +got):\n%s", diff)
	}
}

func TestFormatShowsNoSecret(t *testing.T) {
	t.Parallel()
	s := mcp.Server{
		URL: "https://u:hidden@h/p?k=hidden", Headers: map[string]string{"K": "hidden"},
		Auth: &mcp.Auth{Strategy: mcp.AuthBearer, Value: "hidden"},
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, s); strings.Contains(got, "hidden") {
			t.Errorf("%s: %s", verb, got)
		}
		if got := fmt.Sprintf(verb, *s.Auth); strings.Contains(got, "hidden") {
			t.Errorf("%s: %s", verb, got)
		}
	}
	if got := s.LogValue().String(); strings.Contains(got, "hidden") {
		t.Errorf("log: %s", got)
	}
}

// FuzzParseServers: parsed servers are valid, and read back the same.
func FuzzParseServers(f *testing.F) {
	f.Add(`{"a":{"command":"x","args":["${A:-b}"]}}`)
	f.Add(`{"mcpServers":{"b":{"type":"shttp","url":"http://h","auth":{"strategy":"basic","username":"u"}}}}`)
	f.Add(`{"mcpServers":{"mcpServers":null}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		servers, err := mcp.ParseServers(json.RawMessage(raw))
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("error %v", err)
			}
			return
		}
		for name, s := range servers {
			if err := s.Validate(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again, err := json.Marshal(mcp.Expand(s, nil))
			must.Succeed(t, err)
			if _, err := mcp.ParseServer(again); err != nil && !strings.Contains(string(again), "${") {
				t.Fatalf("%s does not read back: %v", again, err)
			}
		}
	})
}
