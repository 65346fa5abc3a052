package llmtest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

// httpClient has connections of its own, closed when the test ends.
func httpClient(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// post sends a raw request.
func post(t *testing.T, srv *llmtest.Server, path, body string, headers ...string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, strings.NewReader(body))
	must.Succeed(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := httpClient(t).Do(req)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err := res.Body.Close(); err != nil {
			t.Errorf("close body: %v", err)
		}
	}()
	got, err := io.ReadAll(res.Body)
	return res, string(got), err
}

func parse(t *testing.T, yaml string) *llmtest.Script {
	t.Helper()
	s, err := llmtest.Parse([]byte(yaml))
	if err != nil {
		t.Fatalf("parse script: %v", err)
	}
	return s
}

// rich is a reply that uses every part of a protocol.
const rich = `
turns:
  - reply:
      reasoning: "think hard, then act"
      text: "Grüße, 世界! I will look at two things."
      tool_calls:
        - {name: terminal, arguments: {command: "ls -la /a/long/enough/path/to/be/split", n: 3}}
        - {name: grep, arguments: {pattern: "func main() {", deep: {list: [1, two]}}}
      usage: {input: 1000, output: 50, cached: 600, cache_write: 100, reasoning: 20}
    chunk_size: 7
`
