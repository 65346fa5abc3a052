package hostile_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

// attack calls the server that runs it, by every name of its address, with and
// without a proxy: a command on the host, and the confirmation of an action that
// waits. It says when it has tried everything.
const attack = `#!/bin/sh
call() { curl -sS -m 10 "$@" -H 'Content-Type: application/json' >>answers 2>&1; }
for host in 127.0.0.1 localhost [::1] 0.0.0.0 [::ffff:127.0.0.1] 127.1 2130706433 127.0.0.2; do
	for mode in '*' .; do
		call --noproxy "$mode" -X POST "http://$host:$1/api/bash/execute_bash_command" -d "{\"command\":\"touch $2\"}"
		call --noproxy "$mode" -X POST "http://$host:$1/api/conversations/$3/events/respond_to_confirmation" -d '{"accept":true}'
	done
done
echo tried >done
`

// TestServerFromInside proves that a command of an agent cannot use the server's
// own API, whatever network it has; and that the test would see it.
func TestServerFromInside(t *testing.T) {
	t.Parallel()
	if out, _ := exec.Command(binary.Path(), "doctor").CombinedOutput(); !strings.Contains(string(out), "✓ sandbox") {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s", out)
		}
		t.Skipf("this host does not allow sandboxes:\n%s", out)
	}
	for _, c := range []struct {
		name    string
		env     []string
		reaches bool
	}{
		{"no sandbox", nil, true},
		{"none", []string{"DEFT_AGENT_SERVER_SANDBOX=process"}, false},
		{"list", []string{"DEFT_AGENT_SERVER_SANDBOX=process", "DEFT_AGENT_SERVER_NET=127.0.0.1,localhost,::1,0.0.0.0,example.com"}, false},
		{"open", []string{"DEFT_AGENT_SERVER_SANDBOX=process", "DEFT_AGENT_SERVER_NET=open,127.0.0.1,localhost,::1"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			command := func(text string) llmtest.Reply {
				return llmtest.Reply{ToolCalls: []llmtest.ToolCall{{Name: "terminal", Arguments: map[string]any{"command": text}}}}
			}
			s := binary.Serve(t, append(c.env, "HTTP_PROXY=", "HTTPS_PROXY=", "ALL_PROXY=")...)
			port := s.URL[strings.LastIndexByte(s.URL, ':')+1:]
			touched := filepath.Join(s.Dir, "touched")
			waiting, attacking := filepath.Join(s.Dir, "waiting"), filepath.Join(s.Dir, "attacking")
			h, err := llmtest.New(&llmtest.Script{Lenient: true, Turns: []llmtest.Turn{
				{Match: &llmtest.Match{User: "wait"}, Reply: command("touch confirmed")},
				{Match: &llmtest.Match{User: "attack"}, Reply: command(fmt.Sprintf("sh ./attack %s %s $(cat id)", port, touched))},
			}, Default: &llmtest.Turn{Reply: llmtest.Reply{Text: "done"}}}, llmtest.Options{})
			must.Succeed(t, err)
			models := httptest.NewServer(h)
			t.Cleanup(models.Close)
			begin := func(dir, text, policy string) string {
				t.Helper()
				v := &victim{url: s.URL, answers: map[int]int{}}
				status, raw := v.do(t, "POST", "/api/conversations", map[string]any{
					"autotitle": false, "workspace": map[string]any{"working_dir": dir}, "confirmation_policy": map[string]any{"kind": policy},
					"agent": map[string]any{
						"kind": "Agent", "tools": []any{map[string]any{"name": "terminal"}},
						"llm": map[string]any{"model": "openai/mock", "base_url": models.URL + "/v1", "api_key": "x"},
					},
					"initial_message": map[string]any{"role": "user", "run": true, "content": []any{map[string]any{"type": "text", "text": text}}},
				})
				var made struct{ ID string }
				if err := json.Unmarshal(raw, &made); err != nil || status != http.StatusCreated {
					t.Fatalf("create: %d %s %v", status, raw, err)
				}
				return made.ID
			}
			for _, dir := range []string{waiting, attacking} {
				must.Succeed(t, os.Mkdir(dir, 0o755))
			}
			id := begin(waiting, "wait", "AlwaysConfirm")
			await(t, s.URL, id, "waiting_for_confirmation")
			for name, text := range map[string]string{"attack": attack, "id": id} {
				must.Succeed(t, os.WriteFile(filepath.Join(attacking, name), []byte(text), 0o755))
			}
			done := filepath.Join(attacking, "done")
			must.Succeed(t, syscall.Mkfifo(done, 0o600))
			begin(attacking, "attack", "NeverConfirm")
			if got, err := os.ReadFile(done); err != nil || string(got) != "tried\n" {
				t.Fatalf("%q, %v", got, err)
			}
			answers, err := os.ReadFile(filepath.Join(attacking, "answers"))
			must.Succeed(t, err)
			if c.reaches {
				await(t, s.URL, id, "finished")
			}
			v := &victim{url: s.URL, answers: map[int]int{}}
			_, raw := v.do(t, "GET", "/api/conversations/"+id, nil)
			var now struct {
				Status string `json:"execution_status"`
			}
			must.Succeed(t, json.Unmarshal(raw, &now))
			_, ran := os.Stat(touched)
			_, confirmed := os.Stat(filepath.Join(waiting, "confirmed"))
			if got := ran == nil || confirmed == nil || now.Status != "waiting_for_confirmation"; got != c.reaches {
				t.Errorf("command: %v, confirmation: %v, status %s\n%s", ran, confirmed, now.Status, answers)
			}
			if proxied := c.name == "list" || c.name == "open"; proxied != strings.Contains(string(answers), "no sandbox may reach") {
				t.Errorf("%s", answers)
			}
		})
	}
}

// await follows a conversation until it has a status.
func await(t *testing.T, url, id, status string) {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), strings.Replace(url, "http", "ws", 1)+"/sockets/events/"+id+"?resend_mode=all", nil)
	must.Succeed(t, err)
	defer c.CloseNow()
	c.SetReadLimit(1 << 24)
	for {
		_, raw, err := c.Read(t.Context())
		if err != nil {
			t.Fatalf("waiting for %s: %v", status, err)
		}
		if strings.Contains(string(raw), `"`+status+`"`) {
			return
		}
	}
}
