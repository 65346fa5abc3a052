package openapi_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

// TestPrepareForSandboxPause wants nothing to run after the answer: neither the
// command of an agent nor a client's.
func TestPrepareForSandboxPause(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	started := func(name string) (command string, wait func()) {
		path := filepath.Join(dir, name)
		must.Succeed(t, syscall.Mkfifo(path, 0o600))
		return "echo started > " + path + "; sleep 600", func() {
			t.Helper()
			if got, err := os.ReadFile(path); err != nil || string(got) != "started\n" {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
	ofAgent, agentStarted := started("agent")
	ofClient, clientStarted := started("client")
	h, err := llmtest.New(&llmtest.Script{Lenient: true, Turns: []llmtest.Turn{
		{Reply: llmtest.Reply{ToolCalls: []llmtest.ToolCall{{Name: "terminal", Arguments: map[string]any{"command": ofAgent}}}}},
	}, Default: &llmtest.Turn{Reply: llmtest.Reply{Text: "done"}}}, llmtest.Options{})
	must.Succeed(t, err)
	models := httptest.NewServer(h)
	t.Cleanup(models.Close)
	url := server(t)
	do(t, "POST", url+"/api/profiles/default", map[string]any{"llm": map[string]any{
		"model": "openai/scripted", "base_url": models.URL + "/v1", "api_key": "x",
	}}, nil)
	var profiles struct {
		Active string `json:"active_agent_profile_id"`
	}
	do(t, "GET", url+"/api/agent-profiles", nil, &profiles)
	var c struct {
		ID     string `json:"id"`
		Status string `json:"execution_status"`
	}
	do(t, "POST", url+"/api/conversations", map[string]any{
		"agent_profile_id": profiles.Active, "workspace": map[string]any{"kind": "LocalWorkspace", "working_dir": t.TempDir()},
		"initial_message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "work"}}, "run": true},
	}, &c)
	agentStarted()
	one := url + "/api/conversations/" + c.ID
	do(t, "POST", one+"/bash/start_bash_command", map[string]any{"command": ofClient, "timeout": 600}, nil)
	clientStarted()

	do(t, "POST", url+"/api/conversations/prepare-for-sandbox-pause", nil, nil)

	if do(t, "GET", one, nil, &c); c.Status != "paused" {
		t.Errorf("the conversation is %s", c.Status)
	}
	var outputs struct {
		Items []struct {
			ExitCode *int `json:"exit_code"`
		} `json:"items"`
	}
	do(t, "GET", one+"/bash/bash_events/search?kind__eq=BashOutput", nil, &outputs)
	if len(outputs.Items) == 0 || outputs.Items[len(outputs.Items)-1].ExitCode == nil {
		t.Errorf("the client's command has not ended: %+v", outputs.Items)
	}
	var events struct {
		Items []map[string]any `json:"items"`
	}
	do(t, "GET", one+"/events/search?limit=100", nil, &events)
	if !strings.Contains(fmt.Sprint(events.Items), "ObservationEvent") {
		t.Errorf("the agent's command has no answer: %v", events.Items)
	}
}
