package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/cli/mcpserve"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
)

// mcpClient is the SDK's client of a `deft mcp serve`.
type mcpClient struct {
	*sdk.ClientSession
	mu       sync.Mutex
	progress []string
}

func (b *bench) mcpServe(t *testing.T, args ...string) *mcpClient {
	t.Helper()
	c := &mcpClient{}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.progress = append(c.progress, r.Params.Message)
		},
	})
	cmd := b.command(t, append([]string{"mcp", "serve"}, args...)...)
	cmd.Stderr = os.Stderr
	var err error
	c.ClientSession, err = client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd, TerminateDuration: time.Hour}, nil)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// call calls a tool; failed says that the result is an error.
func (c *mcpClient) call(t *testing.T, name string, args map[string]any) (r mcpserve.Result, text string, failed bool) {
	t.Helper()
	params := &sdk.CallToolParams{Name: name, Arguments: args}
	if name == "watch_task" {
		params.SetProgressToken("watching")
	}
	result, err := c.CallTool(t.Context(), params)
	must.Succeed(t, err)
	text = result.Content[0].(*sdk.TextContent).Text
	if !result.IsError {
		must.Succeed(t, json.Unmarshal([]byte(text), &r))
	}
	return r, text, result.IsError
}

// TestMCPServe starts tasks by the SDK's client, watches them, reads their results, goes on with
// one, and cancels one. All are ordinary conversations.
func TestMCPServe(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: write it}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo hello > file; basename $PWD"}}]}}
  - {match: {user: write it}, reply: {tool_calls: [{name: finish, arguments: {message: "Written in {{.LastToolResult}}"}}]}}
  - {match: {user: and now}, reply: {text: "Which one?"}}
  - {match: {user: for ever}, reply: {tool_calls: [{name: terminal, arguments: {command: "touch began; while :; do sleep 0.05; done"}}]}}
  - {match: {user: resumed}, reply: {tool_calls: [{name: finish, arguments: {message: "Went on."}}]}}
`)
	must.Succeed(t, os.Mkdir(filepath.Join(b.ws, "sub"), 0o700))
	c := b.mcpServe(t)

	started, _, _ := c.call(t, "start_task", map[string]any{"task": "write it", "directory": "sub"})
	if started.Status != "running" || started.Directory != filepath.Join(b.ws, "sub") {
		t.Errorf("started: %+v", started)
	}
	done, _, _ := c.call(t, "watch_task", map[string]any{"task_id": started.ID, "seconds": 3600})
	if done.Status != "finished" || !strings.HasPrefix(done.Answer, "Written in sub") || done.Error != "" {
		t.Errorf("done: %+v", done)
	}
	if text, err := os.ReadFile(filepath.Join(b.ws, "sub", "file")); err != nil || string(text) != "hello\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	c.mu.Lock()
	if !slices.Contains(c.progress, "$ echo hello > file; basename $PWD") {
		t.Errorf("progress: %q", c.progress)
	}
	c.mu.Unlock()

	if now, text, failed := c.call(t, "send_message", map[string]any{"task_id": started.ID, "message": "and now"}); failed || now.Status == "running" && now.Answer != "" {
		t.Error(text)
	}
	asks, _, _ := c.call(t, "watch_task", map[string]any{"task_id": started.ID, "seconds": 3600})
	if asks.Answer != "Which one?" || asks.Status != "finished" {
		t.Errorf("asks: %+v", asks)
	}

	endless, _, _ := c.call(t, "start_task", map[string]any{"task": "for ever"})
	began := filepath.Join(b.ws, "began")
	waittest.Until(t, "the command runs", func() bool { _, err := os.Stat(began); return err == nil })
	if r, text, _ := c.call(t, "watch_task", map[string]any{"task_id": endless.ID, "seconds": 1}); r.Status != "running" {
		t.Errorf("an endless task: %s", text)
	}
	if r, text, _ := c.call(t, "cancel_task", map[string]any{"task_id": endless.ID}); r.Status != "paused" {
		t.Errorf("canceled: %s", text)
	}
	for _, bad := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"task_result", map[string]any{"task_id": "nothing"}, "no task nothing was started here"},
		{"start_task", map[string]any{"task": "x", "directory": "/etc"}, "is not below"},
		{"start_task", map[string]any{"task": "x", "directory": "../gone"}, "cannot be found"},
		{"start_task", map[string]any{"task": " "}, "the task is empty"},
	} {
		if _, text, failed := c.call(t, bad.tool, bad.args); !failed || !strings.Contains(text, bad.want) {
			t.Errorf("%s %v: %s", bad.tool, bad.args, text)
		}
	}
	list, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "list_tasks"})
	must.Succeed(t, err)
	if text := list.Content[0].(*sdk.TextContent).Text; strings.Count(text, `"task_id"`) != 2 {
		t.Errorf("list: %s", text)
	}
	must.Succeed(t, c.Close())
	b.run(t, 0, "run", "-q", "--resume", endless.ID, "resumed")
}

// TestMCPServeEnds: the client goes away while a task runs. The task is stopped, and can be
// resumed.
func TestMCPServeEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: for ever}, reply: {tool_calls: [{name: terminal, arguments: {command: "touch began; while :; do sleep 0.05; done"}}]}}
  - {match: {user: resumed}, reply: {tool_calls: [{name: finish, arguments: {message: "Went on."}}]}}
`)
	c := b.mcpServe(t, "--tasks", "1")
	started, _, _ := c.call(t, "start_task", map[string]any{"task": "for ever"})
	began := filepath.Join(b.ws, "began")
	waittest.Until(t, "the command runs", func() bool { _, err := os.Stat(began); return err == nil })
	if _, text, failed := c.call(t, "start_task", map[string]any{"task": "for ever"}); !failed || !strings.Contains(text, "1 tasks run already") {
		t.Errorf("more than allowed: %s", text)
	}
	must.Succeed(t, c.Close())
	if got := b.run(t, 0, "run", "-q", "--resume", started.ID, "resumed"); !strings.Contains(fmt.Sprint(got), "Went on.") {
		t.Errorf("resumed: %v", got)
	}
}
