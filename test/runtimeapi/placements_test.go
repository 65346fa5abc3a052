package runtimeapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/internal/must"
)

// TestPlacements leads the same life with an agent server in each placement: outside, with
// only the tools in the sandbox, and inside the sandbox; by each provider.
func TestPlacements(t *testing.T) {
	t.Parallel()
	for name, begin := range placements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t)
			p.t = t
			c := p.create()
			t.Run("work", func(t *testing.T) { c.work(t) })
			t.Run("files", func(t *testing.T) { c.files(t) })
			t.Run("pause", func(t *testing.T) { c.pause(t) })
			t.Run("crash", func(t *testing.T) { c.crash(t) })
			t.Run("delete", func(t *testing.T) { c.delete(t) })
		})
	}
}

// Secrets that only the server may have, and one that the first command uses.
const (
	llmKey       = "key-of-the-llm-5e0c"
	unusedSecret = "secret-that-no-command-names-77a1"
	usedSecret   = "secret-of-the-first-command-91fd"
)

// script has the model's answers, by the number of its earlier ones. MARK becomes a number
// of seconds that no other process sleeps.
const script = `
api_key: ` + llmKey + `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo one >>made; echo given $TOKEN"}}]}
  - reply: {text: first}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "sleep MARK & touch waiting; until [ -e go ]; do sleep 0.05; done; kill %1; echo two >>made"}}]}
  - reply: {text: second}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "touch begun; until [ -e again ]; do sleep 0.05; done; echo three >>made"}}]}
  - reply: {text: third}
`

// placed is a conversation of an agent server in one placement.
type placed struct {
	*placement
	id string
}

// do sends a request with the server's key, and returns the status.
func (p *placement) do(t *testing.T, method, path string, body, to any) int {
	t.Helper()
	return request(t, method, p.url+path, map[string]string{"X-Session-API-Key": p.key}, body, to)
}

// create makes a conversation whose agent has the terminal and more tools. Without the key
// nobody does.
func (p *placement) create(tools ...string) *placed {
	p.t.Helper()
	secret := func(value string) any { return map[string]any{"kind": "StaticSecret", "value": value} }
	named := []any{map[string]any{"name": "terminal"}}
	for _, name := range tools {
		named = append(named, map[string]any{"name": name})
	}
	ask := map[string]any{
		"autotitle": false, "workspace": map[string]any{"working_dir": p.workspace},
		"agent": map[string]any{
			"kind": "Agent", "tools": named,
			"llm": map[string]any{
				"model": "openai/scripted", "base_url": p.llm + "/v1", "api_key": llmKey,
				"num_retries": 60, "retry_min_wait": 1, "retry_max_wait": 1, // the model ends with a sandbox that it is in
			},
		},
		"secrets": map[string]any{"TOKEN": secret(usedSecret), "OTHER": secret(unusedSecret)},
	}
	for _, wrong := range []string{"", llmKey} {
		if status := request(p.t, "POST", p.url+"/api/conversations", map[string]string{"X-Session-API-Key": wrong}, ask, nil); status != http.StatusUnauthorized {
			p.t.Errorf("create with the key %q: %d", wrong, status)
		}
	}
	var made struct{ ID string }
	if status := p.do(p.t, "POST", "/api/conversations", ask, &made); status != http.StatusCreated {
		p.t.Fatalf("create: %d", status)
	}
	return &placed{p, made.ID}
}

func (c *placed) path() string { return "/api/conversations/" + c.id }

// send sends a message, and runs the agent.
func (c *placed) send(t *testing.T, text string) {
	t.Helper()
	message := map[string]any{"role": "user", "run": true, "content": []any{map[string]any{"type": "text", "text": text}}}
	if status := c.do(t, "POST", c.path()+"/events", message, nil); status != http.StatusOK {
		t.Fatalf("send: %d", status)
	}
}

// seen is an event as a client sees it.
type seen struct {
	ID          string
	Kind        string
	Source      string
	ToolCallID  string `json:"tool_call_id"`
	Error       string
	Observation json.RawMessage
	LLMMessage  json.RawMessage `json:"llm_message"`
}

// follow reads the conversation's WebSocket, from its first event to the agent's message.
func (c *placed) follow(t *testing.T, message string) (events []seen) {
	t.Helper()
	address := fmt.Sprintf("ws%s/sockets/events/%s?resend_all=true&session_api_key=%s", strings.TrimPrefix(c.url, "http"), c.id, url.QueryEscape(c.key))
	conn, _, err := websocket.Dial(t.Context(), address, nil)
	must.Succeed(t, err)
	defer conn.CloseNow()
	conn.SetReadLimit(16 << 20)
	for {
		_, raw, err := conn.Read(t.Context())
		if err != nil {
			t.Fatalf("before %q: %v", message, err)
		}
		var e seen
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if bytes.Contains(raw, []byte(usedSecret)) || bytes.Contains(raw, []byte(unusedSecret)) || bytes.Contains(raw, []byte(llmKey)) {
			t.Errorf("a secret is shown: %s", raw)
		}
		events = append(events, e)
		if e.Kind == "ConversationErrorEvent" {
			t.Fatalf("%s", raw)
		}
		if e.Kind == "MessageEvent" && e.Source == "agent" && strings.Contains(string(e.LLMMessage), message) {
			return events
		}
	}
}

// answers checks that each call has one answer, and returns the answers.
func answers(t *testing.T, events []seen, calls int) (all []seen) {
	t.Helper()
	var asked, got []string
	for _, e := range events {
		switch {
		case e.Kind == "ActionEvent":
			asked = append(asked, e.ToolCallID)
		case e.ToolCallID != "":
			got = append(got, e.ToolCallID)
			all = append(all, e)
		}
	}
	if len(asked) != calls || !slices.Equal(asked, got) {
		t.Fatalf("calls %q, answers %q", asked, got)
	}
	return all
}

func (c *placed) status(t *testing.T) string {
	t.Helper()
	var info struct {
		Status string `json:"execution_status"`
	}
	if status := c.do(t, "GET", c.path(), nil, &info); status != http.StatusOK {
		t.Fatalf("get: %d", status)
	}
	return info.Status
}

// work runs a command that writes a file, with a secret that is masked.
func (c *placed) work(t *testing.T) {
	c.send(t, "begin")
	got := answers(t, c.follow(t, "first"), 1)
	if text := string(got[0].Observation); !strings.Contains(text, "given <secret-hidden>") || !strings.Contains(text, `"exit_code":0`) {
		t.Errorf("the command's answer: %s", text)
	}
	await(t, func() bool { return c.status(t) == "finished" })
}

// download reads a file of the workspace.
func (c *placed) download(t *testing.T, name string) (text string, status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", c.url+c.path()+"/file/download?path="+url.QueryEscape(c.workspace+"/"+name), nil)
	must.Succeed(t, err)
	r.Header.Set("X-Session-API-Key", c.key)
	answer, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	must.Succeed(t, err)
	return string(raw), answer.StatusCode
}

// upload writes a file of the workspace.
func (c *placed) upload(t *testing.T, name, text string) {
	t.Helper()
	if status := c.uploadTo(t, c.path()+"/file/upload", c.workspace+"/"+name, []byte(text)); status != http.StatusOK {
		t.Fatalf("upload: %d", status)
	}
}

func (p *placement) uploadTo(t *testing.T, route, path string, content []byte) int {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "file")
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	must.Succeed(t, err)
	r, err := http.NewRequestWithContext(t.Context(), "POST", p.url+route+"?path="+url.QueryEscape(path), &body)
	must.Succeed(t, err)
	r.Header.Set("X-Session-API-Key", p.key)
	r.Header.Set("Content-Type", form.FormDataContentType())
	answer, err := http.DefaultClient.Do(r)
	must.Succeed(t, err)
	answer.Body.Close()
	return answer.StatusCode
}

// files reads the command's files, wherever the workspace is.
func (c *placed) files(t *testing.T) {
	if text, status := c.download(t, "made"); status != http.StatusOK || text != "one\n" {
		t.Errorf("download: %d %q", status, text)
	}
	if _, status := c.download(t, "../../etc/passwd"); status < 400 || status > 499 {
		t.Errorf("download of a file outside: %d", status)
	}
	var changes []struct{ Status, Path string }
	if status := c.do(t, "GET", c.path()+"/git/changes?path="+url.QueryEscape(c.workspace), nil, &changes); status != http.StatusOK || len(changes) != 1 || changes[0].Path != "made" || changes[0].Status != "ADDED" {
		t.Errorf("changes: %d %+v", status, changes)
	}
	var diff struct{ Modified, Original string }
	if status := c.do(t, "GET", c.path()+"/git/diff?path="+url.QueryEscape(c.workspace+"/made"), nil, &diff); status != http.StatusOK || strings.TrimSpace(diff.Modified) != "one" || diff.Original != "" {
		t.Errorf("diff: %d %+v", status, diff)
	}
}

// pause stops the run after its command, and goes on. The visible processes of the
// sandbox have no key meanwhile where the server is outside.
func (c *placed) pause(t *testing.T) {
	c.send(t, "go on")
	await(t, func() bool { _, status := c.download(t, "waiting"); return status == http.StatusOK })
	if c.inside {
		c.sealedInside(t)
	} else {
		c.seenInside(t)
	}
	if c.suspend != nil {
		c.suspend(t)
	}
	if status := c.do(t, "POST", c.path()+"/pause", nil, nil); status != http.StatusOK {
		t.Errorf("pause: %d", status)
	}
	c.upload(t, "go", "")
	await(t, func() bool { return c.status(t) == "paused" })
	if text, _ := c.download(t, "made"); text != "one\ntwo\n" {
		t.Errorf("made: %q", text)
	}
	if status := c.do(t, "POST", c.path()+"/run", nil, nil); status != http.StatusOK {
		t.Errorf("run: %d", status)
	}
	answers(t, c.follow(t, "second"), 2)
	await(t, func() bool { return c.status(t) == "finished" })
}

// crash kills the server while a command runs. The next one goes on: a command that runs in
// a sandbox of its own is joined; one that ended with the server is reported.
func (c *placed) crash(t *testing.T) {
	c.send(t, "and on")
	await(t, func() bool { _, status := c.download(t, "begun"); return status == http.StatusOK })
	c.kill(t)
	c.restart(t)
	c.upload(t, "again", "")
	got := answers(t, c.follow(t, "third"), 3)
	text, _ := c.download(t, "made")
	last := got[2]
	if c.inside {
		if text != "one\ntwo\n" || last.Kind != "AgentErrorEvent" && !strings.Contains(string(last.Observation), `"is_error":true`) {
			t.Errorf("made %q, the answer %+v, %s", text, last, last.Observation)
		}
	} else if text != "one\ntwo\nthree\n" || last.Kind != "ObservationEvent" || !strings.Contains(string(last.Observation), `"exit_code":0`) {
		t.Errorf("made %q, the answer %+v, %s", text, last, last.Observation)
	}
	await(t, func() bool { return c.status(t) == "finished" })
	// All clients see the same: a page of events, and the WebSocket.
	var page struct{ Items []seen }
	if status := c.do(t, "GET", c.path()+"/events/search?limit=100", nil, &page); status != http.StatusOK {
		t.Errorf("search: %d", status)
	}
	answers(t, page.Items, 3)
}

// delete leaves nothing of the conversation.
func (c *placed) delete(t *testing.T) {
	if status := c.do(t, "DELETE", c.path(), nil, nil); status != http.StatusOK && status != http.StatusNoContent {
		t.Errorf("delete: %d", status)
	}
	if status := c.do(t, "GET", c.path(), nil, nil); status != http.StatusNotFound {
		t.Errorf("it is still there: %d", status)
	}
	if left := c.left(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
