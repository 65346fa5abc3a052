// Package openapi checks the Agent Server against its document: docs/routes-agent-server.md
// lists each route with its state, the document of the built binary has everything that
// the reference's has, schemathesis finds no failure of the server and no status that is
// not in it, and OpenAI's Python client works with the gateway. The App Server is held to
// OpenHands' documents, of which testdata/appserver.json has the facts.
//
// # Usage
//
//	go test ./test/openapi
//	DEFT_BIN=$PWD/bin/deft DEFT_API_PYTHON=…/python go test ./test/openapi
//
// make deps installs the Python parts. Without them their tests are skipped,
// or fail where CI is true.
package openapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

func TestMain(m *testing.M) { os.Exit(binary.Run(m)) }

const key = "a-key-of-the-test"

// server starts a server that has the key and returns its URL. More variables
// come after those that all have.
func server(t *testing.T, more ...string) string {
	t.Helper()
	return binary.Serve(t, append([]string{"OH_SESSION_API_KEYS_0=" + key}, more...)...).URL
}

// do is doAs with the key of the test.
func do(t *testing.T, method, url string, body any, out any) {
	t.Helper()
	doAs(t, key, method, url, body, out)
}

// doAs sends a request and decodes the answer into out, if it is not nil.
func doAs(t *testing.T, key, method, url string, body any, out any) {
	t.Helper()
	var sent io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		must.Succeed(t, err)
		sent = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, sent)
	must.Succeed(t, err)
	r.Header.Set("X-Session-API-Key", key)
	resp, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s %v", method, url, resp.Status, raw, err)
	}
	if out != nil {
		must.Succeed(t, json.Unmarshal(raw, out))
	}
}

// withModel gives the server an LLM profile whose model answers at once, and
// returns the id of an agent profile that uses it.
func withModel(t *testing.T, url string) (profile string) {
	t.Helper()
	h, err := llmtest.New(&llmtest.Script{Lenient: true, Default: &llmtest.Turn{Reply: llmtest.Reply{Text: "hello"}}}, llmtest.Options{})
	must.Succeed(t, err)
	models := httptest.NewServer(h)
	t.Cleanup(models.Close)
	do(t, "POST", url+"/api/profiles/default", map[string]any{"llm": map[string]any{
		"model": "openai/scripted", "base_url": models.URL + "/v1", "api_key": "x",
	}}, nil)
	var list struct {
		Active string `json:"active_agent_profile_id"`
	}
	do(t, "GET", url+"/api/agent-profiles", nil, &list)
	return list.Active
}

// python returns the interpreter that has schemathesis and OpenAI's client.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("DEFT_API_PYTHON")
	if path == "" {
		cache, err := os.UserCacheDir()
		must.Succeed(t, err)
		path = filepath.Join(cache, "deft-deps", "openapi", "bin", "python")
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("schemathesis is not installed (make deps): %v", err)
		}
		t.Skipf("schemathesis is not installed (make deps): %v", err)
	}
	return path
}
