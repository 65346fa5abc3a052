package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/mcp"
	"github.com/deft-dev/deft/server/rest"
	_ "github.com/deft-dev/deft/tool/builtin" // the tools under test
)

// serve returns a function that sends a request.
func serve(t *testing.T, o mcp.Options) func(method, path, body string) (int, string) {
	t.Helper()
	server, err := rest.New(rest.Options{Routes: mcp.New(o).Routes(), Keys: func() []string { return nil }})
	must.Succeed(t, err)
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	return func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, h.URL+path, strings.NewReader(body))
		must.Succeed(t, err)
		resp, err := http.DefaultClient.Do(req)
		must.Succeed(t, err)
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		must.Succeed(t, err)
		return resp.StatusCode, string(raw)
	}
}

// prefixKeys seal a value by putting the mark of sealed values before it.
type prefixKeys struct{}

func (prefixKeys) Seal(plain []byte) (string, error) { return "gAAAAA" + string(plain), nil }
func (prefixKeys) Open(token string) ([]byte, error) {
	return []byte(strings.TrimPrefix(token, "gAAAAA")), nil
}
func (prefixKeys) Stale(string) bool { return false }

func TestProbed(t *testing.T) {
	t.Parallel()
	asked := make(chan mcp.Probe, 1)
	ask := serve(t, mcp.Options{
		Keys: prefixKeys{},
		Probe: func(_ context.Context, p mcp.Probe) (mcp.Result, error) {
			asked <- p
			return mcp.Result{Tools: []string{"a"}, Called: p.Tool != "", Text: "hi"}, nil
		},
	})
	for body, want := range map[string]mcp.Probe{
		`{"server":{"command":"c","args":["x"],"env":{"K":"gAAAAAv"},"cwd":"/w","more":1},"timeout":1.5,"name":" "}`: {
			Name: "test-server", Limit: 1500 * time.Millisecond,
			Server: json.RawMessage(`{"type":"stdio","command":"c","args":["x"],"env":{"K":"v"},"cwd":"/w"}`),
		},
		`{"name":"n","server":{"type":"shttp","url":"http://u","headers":{"H":"gAAAAAv"},"auth":{"strategy":"bearer","value":"gAAAAAt"}}}`: {
			Name: "n", Limit: 15 * time.Second,
			Server: json.RawMessage(`{"type":"shttp","url":"http://u","headers":{"H":"v"},"auth":{"strategy":"bearer","value":"t"}}`),
		},
		`{"server":{"transport":"sse","url":"http://u","auth":null},"tool_call":{"name":"a","arguments":{"x":1}}}`: {
			Name: "test-server", Limit: 15 * time.Second, Tool: "a", Arguments: json.RawMessage(`{"x":1}`),
			Server: json.RawMessage(`{"type":"sse","url":"http://u"}`),
		},
	} {
		status, got := ask("POST", "/api/mcp/test", body)
		answer := `{"ok":true,"tools":["a"]}`
		if want.Tool != "" {
			answer = `{"ok":true,"tools":["a"],"tool_result":{"is_error":false,"text":"hi"}}`
		}
		if status != 200 || got != answer {
			t.Errorf("%s: %d %s", body, status, got)
		}
		if diff := cmp.Diff(want, <-asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for kind, want := range map[fault.Kind]string{fault.Timeout: "timeout", fault.Unavailable: "connection", fault.Unsupported: "unknown"} {
		ask := serve(t, mcp.Options{Probe: func(context.Context, mcp.Probe) (mcp.Result, error) {
			return mcp.Result{}, fault.New(kind, "why")
		}})
		status, got := ask("POST", "/api/mcp/test", `{"server":{"command":"x"}}`)
		if status != 200 || got != `{"ok":false,"error":"why","error_kind":"`+want+`"}` {
			t.Errorf("%s: %d %s", kind, status, got)
		}
	}
}

// TestRefused compares the violations' places with the reference's.
func TestRefused(t *testing.T) {
	t.Parallel()
	ask := serve(t, mcp.Options{Probe: func(context.Context, mcp.Probe) (mcp.Result, error) {
		t.Error("a wrong request is tried")
		return mcp.Result{}, nil
	}})
	for body, loc := range map[string]string{
		`{}`:                                                                     `["body","server"]`,
		`{"server":{}}`:                                                          `["body","server","http","url"]`,
		`{"server":{"type":"stdio"}}`:                                            `["body","server","stdio","command"]`,
		`{"server":{"type":"x"}}`:                                                `["body","server"]`,
		`{"server":{"type":1}}`:                                                  `["body","server"]`,
		`{"server":{"command":""}}`:                                              `["body","server","stdio","command"]`,
		`{"server":{"command":null}}`:                                            `["body","server","stdio","command"]`,
		`{"server":{"command":"x","args":"y"}}`:                                  `["body","server","stdio","args"]`,
		`{"server":null}`:                                                        `["body","server"]`,
		`{"server":{"command":"x","args":null}}`:                                 `["body","server","stdio","args"]`,
		`{"server":{"command":"x","args":["y",null]}}`:                           `["body","server","stdio","args",1]`,
		`{"server":{"command":"x"},"name":null}`:                                 `["body","name"]`,
		`{"server":{"command":"x"},"timeout":null}`:                              `["body","timeout"]`,
		`{"server":{"command":"x","env":{"a":1}}}`:                               `["body","server","stdio","env","a"]`,
		`{"server":{"command":"x","cwd":1}}`:                                     `["body","server","stdio","cwd"]`,
		`{"server":{"command":"x","authentication":1}}`:                          `["body"]`,
		`{"server":{"command":"x"},"timeout":0}`:                                 `["body","timeout"]`,
		`{"server":{"command":"x"},"timeout":121}`:                               `["body","timeout"]`,
		`{"server":{"command":"x"},"name":""}`:                                   `["body","name"]`,
		`{"server":{"command":"x"},"tool_call":{}}`:                              `["body","tool_call","name"]`,
		`{"server":{"command":"x"},"tool_call":{"name":"a","arguments":[]}}`:     `["body","tool_call","arguments"]`,
		`{"server":{"type":"http","url":"http://x","auth":{"strategy":"moon"}}}`: `["body","server","http","auth"]`,
		`{"server":{"type":"http","url":"http://x","headers":{"authorization":"a"},"auth":{"strategy":"none"}}}`: `["body","server","http"]`,
	} {
		status, got := ask("POST", "/api/mcp/test", body)
		if status != 422 || !strings.Contains(got, `"loc":`+loc) {
			t.Errorf("%s: %d %s, want one at %s", body, status, got, loc)
		}
	}
}

func TestOAuthAndTools(t *testing.T) {
	t.Parallel()
	ask := serve(t, mcp.Options{Tools: mcp.Catalogue()})
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/api/mcp/oauth/start", `{"server":{"type":"http","url":"http://x"}}`, 400, `{"detail":"MCP OAuth start requires auth.strategy='oauth2'"}`},
		{"POST", "/api/mcp/oauth/start", `{"server":{"type":"http","url":"http://x","auth":{"strategy":"oauth2"}}}`, 200, `{"ok":false,"error":"people log in at MCP servers in the settings of the web app","error_kind":"unknown"}`},
		{"GET", "/api/mcp/oauth/status/abc", "", 404, `{"detail":"MCP OAuth job not found"}`},
		{"POST", "/api/mcp/oauth/callback/abc", `{"callback_url":"http://localhost/"}`, 404, `{"detail":"MCP OAuth job not found"}`},
		{"GET", "/api/tools/", "", 200, `["file_editor","task_tool_set","task_tracker","terminal","browser_tool_set","glob","grep","apply_patch","read_file","write_file","edit","list_directory","ipython","planning_file_editor","workflow_tool_set","ClassifyAndSwitchLLMTool","ask_oracle","start_child_conversation"]`},
	} {
		if status, got := ask(c.method, c.path, c.body); status != c.status || got != c.want {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, got)
		}
	}
	_, got := ask("GET", "/api/tools/catalog", "")
	var list struct {
		Tools []map[string]any `json:"tools"`
	}
	if err := json.Unmarshal([]byte(got), &list); err != nil || len(list.Tools) != 19 || len(list.Tools[0]) != 5 || list.Tools[3]["usable"] != true || list.Tools[8]["user_selectable"] != true || list.Tools[9]["user_selectable"] != false {
		t.Errorf("catalogue: %s, %v", got, err)
	}
	if diff := cmp.Diff([]string{"file_editor", "task_tool_set", "task_tracker", "terminal", "browser_tool_set", "glob", "grep", "apply_patch", "read_file", "write_file", "edit", "list_directory", "ipython", "planning_file_editor", "workflow_tool_set", "ClassifyAndSwitchLLMTool", "ask_oracle", "start_child_conversation"}, mcp.UsableNames(mcp.Catalogue())); diff != "" {
		t.Errorf("usable (-want +got):\n%s", diff)
	}
}

// FuzzTest holds that any body is answered with 200 or 422.
func FuzzTest(f *testing.F) {
	f.Add(`{"server":{"command":"x","args":null}}`)
	f.Add(`{"server":{"url":"x","auth":{"strategy":"header","headers":{"a":1}}},"timeout":1e300}`)
	server, err := rest.New(rest.Options{
		Keys: func() []string { return nil },
		Routes: mcp.New(mcp.Options{Probe: func(_ context.Context, p mcp.Probe) (mcp.Result, error) {
			if !json.Valid(p.Server) || p.Limit <= 0 {
				return mcp.Result{}, io.ErrUnexpectedEOF
			}
			return mcp.Result{}, nil
		}}).Routes(),
	})
	must.Succeed(f, err)
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("POST", "/api/mcp/test", strings.NewReader(body)))
		if w.Code != 200 && w.Code != 422 || strings.Contains(w.Body.String(), io.ErrUnexpectedEOF.Error()) && w.Code == 200 {
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}
