package appserver_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

// lowRisk is a model that calls a recursive delete harmless.
const lowRisk = `
by_history: true
default: {reply: {text: A title}}
turns:
  - match: {user: tidy up, tool_results: 0, tools: [terminal]}
    reply: {tool_calls: [{name: terminal, arguments: {command: "rm -rf /srv/data", security_risk: LOW}}]}
  - {match: {user: tidy up, tool_results: 1, tools: [terminal]}, reply: {text: it is tidy}}
`

// TestAllWaysAsk holds that "ask before risky actions" means the same by every way in: the
// user is asked about rm -rf, although the model calls it LOW.
func TestAllWaysAsk(t *testing.T) {
	t.Parallel()
	d := deploy(t, lowRisk, options{})
	v0 := v0Of(t, d)
	agent := binary.Serve(t)
	direct := deployment{&server{url: agent.URL}, d.llm, &client{http: &http.Client{}}}
	model := map[string]any{"model": "openai/scripted", "base_url": d.llm.URL + "/v1", "api_key": "k"}
	at := agent.URL + "/api/conversations"
	request := func(t *testing.T) map[string]any {
		return map[string]any{
			"agent_settings": map[string]any{"llm": model, "tools": []any{map[string]any{"name": "terminal"}}},
			"workspace":      map[string]any{"kind": "LocalWorkspace", "working_dir": t.TempDir()},
		}
	}
	for name, begin := range map[string]func(t *testing.T) (deployment, conversation){
		"V1, as the page sends it": func(t *testing.T) (deployment, conversation) {
			c, _ := d.begin(t, map[string]any{"initial_message": text("tidy up")})
			return d, c
		},
		"V1, by name": func(t *testing.T) (deployment, conversation) {
			c, _ := d.begin(t, map[string]any{"initial_message": text("tidy up"), "confirm": "risky"})
			return d, c
		},
		"V1, changed in the page": func(t *testing.T) (deployment, conversation) {
			c, _ := d.begin(t, map[string]any{"confirm": "never"})
			sandbox := &client{http: &http.Client{}, key: c.Key}
			sandbox.do(t, "POST", d.url+"/api/conversations/"+c.ID+"/confirm", map[string]any{"confirm": "risky"}, nil)
			sandbox.do(t, "POST", d.url+"/api/conversations/"+c.ID+"/events", text("tidy up"), nil)
			return d, c
		},
		"V0": func(t *testing.T) (deployment, conversation) {
			var made v0Conversation
			v0.call(http.StatusOK, "POST", "/api/conversations", map[string]any{"initial_user_msg": "tidy up"}, &made)
			var tasks struct{ Items []task }
			d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/start-tasks/search?conversation_id__eq="+made.ID, nil, &tasks)
			d.until(t, tasks.Items[0].ID, func(t task) bool { return t.Status == "READY" })
			return d, d.conversation(t, made.ID)
		},
		"agent server": func(t *testing.T) (deployment, conversation) {
			r := request(t)
			r["confirm"], r["initial_message"] = "risky", text("tidy up")
			var c conversation
			direct.owner.do(t, "POST", at, r, &c)
			return direct, c
		},
		"agent server, changed": func(t *testing.T) (deployment, conversation) {
			var c conversation
			direct.owner.do(t, "POST", at, request(t), &c)
			direct.owner.do(t, "POST", at+"/"+c.ID+"/confirm", map[string]any{"confirm": "risky"}, nil)
			direct.owner.do(t, "POST", at+"/"+c.ID+"/events", text("tidy up"), nil)
			return direct, c
		},
		"OpenAI's API": func(t *testing.T) (deployment, conversation) {
			agent := binary.Serve(t) // with settings and conversations of its own
			direct := deployment{&server{url: agent.URL}, d.llm, direct.owner}
			direct.owner.do(t, "PATCH", agent.URL+"/api/settings", map[string]any{
				"conversation_settings_diff": map[string]any{"confirmation_mode": true, "security_analyzer": "llm"},
			}, nil)
			direct.owner.do(t, "POST", agent.URL+"/api/profiles/default", map[string]any{"llm": model, "include_secrets": true}, nil)
			direct.owner.do(t, "GET", agent.URL+"/api/agent-profiles", nil, nil) // makes the active one
			if status, raw := direct.owner.send(t, "POST", agent.URL+"/v1/chat/completions", map[string]any{
				"model": "openhands_default", "messages": []any{map[string]any{"role": "user", "content": "tidy up"}},
			}); status != http.StatusConflict || !bytes.Contains(raw, []byte("waiting_for_confirmation")) {
				t.Errorf("the answer: %d: %s", status, raw)
			}
			var found struct{ Items []conversation }
			direct.owner.do(t, "GET", agent.URL+"/api/conversations/search?status=waiting_for_confirmation", nil, &found)
			if len(found.Items) != 1 {
				t.Fatalf("%d conversations wait", len(found.Items))
			}
			return direct, found.Items[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, c := begin(t)
			defer isWorded(t, from, c)
			for _, e := range from.follow(t, c, "waiting_for_confirmation") {
				if e.Kind == "ObservationEvent" {
					t.Error("the command ran")
				}
			}
		})
	}
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		asksInTerminal(t, d.llm)
	})
}

// isWorded holds that the server words the question with the worst rating.
func isWorded(t *testing.T, d deployment, c conversation) {
	t.Helper()
	var asked struct {
		Questions []struct{ Title, Text, Risk string }
		Preset    string
	}
	(&client{http: d.owner.http, key: c.Key}).do(t, "GET", d.url+"/api/conversations/"+c.ID+"/questions", nil, &asked)
	if len(asked.Questions) != 1 || asked.Questions[0].Text != "rm -rf /srv/data" || asked.Questions[0].Risk != "HIGH" || asked.Preset != "risky" {
		t.Errorf("the question: %+v", asked)
	}
}

// asksInTerminal holds that deft run asks in a terminal.
func asksInTerminal(t *testing.T, llm *llmtest.Server) {
	dir, work := t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary.Path(), "run", "--confirm", "risky", "tidy up")
	cmd.Dir = work
	cmd.Env = []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "OH_PERSISTENCE_DIR=" + filepath.Join(dir, "oh"),
		"LLM_MODEL=openai/scripted", "LLM_BASE_URL=" + llm.URL + "/v1", "LLM_API_KEY=k",
	}
	tty, err := pty.Start(cmd)
	must.Succeed(t, err)
	defer tty.Close()
	var shown bytes.Buffer
	for piece := make([]byte, 4096); !bytes.Contains(shown.Bytes(), []byte("Run it?")); {
		n, err := tty.Read(piece)
		shown.Write(piece[:n])
		if err != nil { // the end of the program
			_ = cmd.Wait()
			t.Fatalf("it has not asked:\n%s", shown.String())
		}
	}
	for _, part := range []string{"use terminal (risk: HIGH)", "    rm -rf /srv/data"} {
		if !strings.Contains(shown.String(), part) {
			t.Errorf("%q is not shown:\n%s", part, shown.String())
		}
	}
	if _, err := tty.WriteString("\x03"); err != nil { // Ctrl-C
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, tty) // until it ends
	_ = cmd.Wait()
}
