// Package openapi holds the Agent Server to its document: docs/agent-server.md
// lists each route with its state, the document of the built binary has what
// the reference's has, schemathesis finds no failure of the server and no
// status that is not in it, and OpenAI's Python client works with the gateway.
//
// # Usage
//
//	go test ./test/openapi
//	DEFT_BIN=bin/deft DEFT_API_PYTHON=…/python go test ./test/openapi
//
// make deps installs the Python parts. Without them their tests are skipped,
// or fail where CI is true.
package openapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/llmtest"
)

// deft is the path of the binary under test.
var deft string

func TestMain(m *testing.M) {
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (int, error) {
	deft = os.Getenv("DEFT_BIN")
	if deft == "" {
		dir, err := os.MkdirTemp("", "deft-openapi-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		deft = filepath.Join(dir, "deft")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", deft, "../../cmd/deft")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return 0, fmt.Errorf("build deft: %w", err)
		}
	}
	var err error
	if deft, err = filepath.Abs(deft); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

const key = "a-key-of-the-test"

var listens = regexp.MustCompile(`on (http://\S+)`)

// server starts the binary in a directory of its own, without a way to the
// network, and returns its URL. More variables come after those that all have.
func server(t *testing.T, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, deft, "agent-server", "--host", "127.0.0.1", "--port", "0")
	cmd.Dir = dir
	nowhere := "http://127.0.0.1:9" // discard; nobody listens
	cmd.Env = []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "OH_PERSISTENCE_DIR=" + filepath.Join(dir, "oh"), "OH_SESSION_API_KEYS_0=" + key,
		"HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "ALL_PROXY=" + nowhere, "NO_PROXY=127.0.0.1,localhost",
		"GIT_TERMINAL_PROMPT=0",
	}
	cmd.Env = append(cmd.Env, more...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder // read after drained
	found, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		defer close(found)
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if m := listens.FindStringSubmatch(lines.Text()); m != nil && len(found) == 0 {
				found <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // ended by us
		if strings.Contains(said.String(), "panic") {
			t.Error("the server panicked")
		}
		if t.Failed() {
			t.Logf("the server said:\n%s", said.String())
		}
	})
	url, ok := <-found
	if !ok {
		t.Fatal("the server did not start")
	}
	return url
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
		if err != nil {
			t.Fatal(err)
		}
		sent = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, sent)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Session-API-Key", key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s %v", method, url, resp.Status, raw, err)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			t.Fatal(err)
		}
	}
}

// withModel gives the server an LLM profile whose model answers at once, and
// returns the id of an agent profile that uses it.
func withModel(t *testing.T, url string) (profile string) {
	t.Helper()
	h, err := llmtest.New(&llmtest.Script{Lenient: true, Default: &llmtest.Turn{Reply: llmtest.Reply{Text: "hello"}}}, llmtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
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
