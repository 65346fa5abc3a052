package mcpserver

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSearch: the key is in a header, and results are text for the model.
func TestSearch(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer tvly-1" || strings.Contains(r.URL.String(), "tvly") || !strings.Contains(string(raw), "gophers") {
			t.Errorf("asked %s %v %s", r.URL, r.Header, raw)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"query": "gophers", "answer": null, "images": [], "results": [{"title": "Go", "url": "https://go.dev", "content": "A language.", "score": 0.9, "raw_content": null}], "response_time": 1.1}`)
	}))
	t.Cleanup(web.Close)
	t.Cleanup(searchClient.CloseIdleConnections)
	server := sdk.NewServer(&sdk.Implementation{Name: Name}, nil)
	New(Options{Search: web.URL}).addSearch(server, "tvly-1")
	ours, theirs := sdk.NewInMemoryTransports()
	s, err := server.Connect(t.Context(), ours, nil)
	must.Succeed(t, err)
	defer s.Close()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), theirs, nil)
	must.Succeed(t, err)
	defer c.Close()
	call := func(name string, args map[string]any) string {
		got, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
		must.Succeed(t, err)
		raw, err := json.Marshal(got)
		must.Succeed(t, err)
		return string(raw)
	}
	for _, one := range []struct {
		name string
		args map[string]any
	}{
		{"tavily_search", map[string]any{"query": "gophers", "max_results": 3}},
		{"tavily_search", map[string]any{"query": "gophers", "include_domains": "go.dev, example.com"}},
		{"tavily_extract", map[string]any{"urls": []string{"https://gophers.example"}}},
		{"tavily_extract", map[string]any{"urls": "https://gophers.example"}},
	} {
		name, args := one.name, one.args
		if got := call(name, args); !strings.Contains(got, `Go\nhttps://go.dev\nA language.`) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for answered, says := range map[int]string{401: "refuses the search key", 403: "refuses the search key", 429: "allows no more", 432: "allows no more", 433: "allows no more", 500: "status 500"} {
		status = answered
		if got := call("tavily_search", map[string]any{"query": "gophers"}); !strings.Contains(got, says) || !strings.Contains(got, `"isError":true`) {
			t.Errorf("answered %d: %s", answered, got)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`["a","b c"]`: "a|b c", `"a, b"`: "a|b", `""`: "", `null`: ""} {
		var l labels
		if err := json.Unmarshal([]byte(raw), &l); err != nil || strings.Join(l, "|") != want {
			t.Errorf("%s: %q, %v", raw, l, err)
		}
	}
	if err := json.Unmarshal([]byte(`{}`), new(labels)); err == nil {
		t.Error("an object is taken")
	}
}
