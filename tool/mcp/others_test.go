package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/mcp"
)

// TestOthersServer talks to the reference server of the protocol's authors,
// which is not written in Go.
func TestOthersServer(t *testing.T) {
	t.Parallel()
	server := everything(t)
	set := connect(t, map[string]mcp.Server{"everything": server}, mcp.Options{})
	if got, err := set.Prompt(t.Context(), "/everything:args-prompt Paris state=Texas"); err != nil || !strings.Contains(got, "What's weather in Paris, Texas?") {
		t.Errorf("prompt: %s, %v", got, err)
	}
	for _, c := range []struct{ tool, args, want string }{
		{"echo", `{"message":"hello"}`, "hello"},
		{"list_mcp_resources", `{}`, "demo://resource/"},
		{"read_mcp_resource", `{"server":"everything","uri":"demo://resource/dynamic/text/1"}`, "Resource 1"},
	} {
		if got := ask(t, set, c.tool, c.args); got.IsError || !strings.Contains(event.JoinText(got.Content), c.want) {
			t.Errorf("%s: %+v", c.tool, got)
		}
	}
}

// installed is a file below the Node modules where `make deps` puts such things.
func installed(t *testing.T, path ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	must.Succeed(t, err)
	return filepath.Join(append([]string{cache, "deft-deps", "mcp", "node_modules"}, path...)...)
}

// everything finds or skips @modelcontextprotocol/server-everything, on the
// path or where `make deps` puts it.
func everything(t *testing.T) mcp.Server {
	t.Helper()
	const name = "mcp-server-everything"
	for _, at := range []string{name, installed(t, ".bin", name)} {
		if path, err := exec.LookPath(at); err == nil {
			return mcp.Server{Command: path, Args: []string{"stdio"}}
		}
	}
	skip(t, name+" is not installed: make deps")
	return mcp.Server{}
}

// TestOthersLogin logs in at the example server of the protocol's TypeScript SDK, which has an
// authorization server beside it.
func TestOthersLogin(t *testing.T) {
	t.Parallel()
	program := installed(t, "@modelcontextprotocol", "sdk", "dist", "esm", "examples", "server", "simpleStreamableHttp.js")
	if _, err := os.Stat(program); err != nil {
		skip(t, "the TypeScript SDK is not installed: make deps")
	}
	config := mcp.Server{URL: exampleServer(t, program)}
	logins := &kept{all: map[string]json.RawMessage{}}
	_, err := mcp.LogIn(t.Context(), config, mcp.LoginOptions{Redirect: redirect, Logins: logins, Visit: func(ctx context.Context, address string) (url.Values, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		must.Succeed(t, err)
		resp, err := http.DefaultTransport.RoundTrip(r)
		must.Succeed(t, err)
		defer resp.Body.Close()
		to, err := resp.Location()
		must.Succeed(t, err)
		return to.Query(), nil
	}})
	must.Succeed(t, err)
	set := connect(t, map[string]mcp.Server{"web": config}, mcp.Options{Logins: logins, Filter: "list-files"})
	if got := ask(t, set, "list-files", `{}`); got.IsError || !strings.Contains(event.JoinText(got.Content), "file:///example/file1.txt") {
		t.Errorf("list-files: %+v", got)
	}
}

// exampleServer starts the example with logins on free ports, anew where another program was
// faster to take one.
func exampleServer(t *testing.T, program string) (address string) {
	t.Helper()
	for {
		mcpPort, authPort := freePort(t), freePort(t)
		cmd := exec.CommandContext(t.Context(), "node", program, "--oauth", "--oauth-strict")
		cmd.Env = append(os.Environ(), fmt.Sprint("MCP_PORT=", mcpPort), fmt.Sprint("MCP_AUTH_PORT=", authPort))
		out, err := cmd.StdoutPipe()
		must.Succeed(t, err)
		must.Succeed(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		})
		lines, n := bufio.NewScanner(out), 0
		for n < 2 && lines.Scan() {
			if strings.Contains(lines.Text(), "listening on port") {
				n++
			}
		}
		if n == 2 {
			return fmt.Sprintf("http://localhost:%d/mcp", mcpPort)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	must.Succeed(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
