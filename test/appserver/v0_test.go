package appserver_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/llmtest"
)

// v0Script answers the agent by what the user said last, and everything else (titles)
// with a word.
const v0Script = `
by_history: true
default: {reply: {text: A title}}
turns:
  - match: {user: Write a prompt for another agent}
    reply: {text: "<update_prompt>Remember the files.</update_prompt>"}
  - match: {user: set it up, assistant_turns: 0, tools: [terminal]}
    reply:
      tool_calls:
        - name: terminal
          arguments:
            command: >-
              git init -q -b main . && git config user.name n && git config user.email n@example.org &&
              echo one >a.txt && echo '*.log' >.gitignore && git add . && git commit -qm first &&
              echo two >a.txt && echo new >'new file.txt' && echo l >x.log && mkdir sub && echo s >sub/s.txt
  - {match: {user: set it up, assistant_turns: 1, tools: [terminal]}, reply: {text: it is set up}}
  - {match: {user: thank you, tools: [terminal]}, reply: {text: you are welcome}}
  - match: {user: change it, tool_results: 1, tools: [terminal]}
    reply: {tool_calls: [{name: terminal, arguments: {command: "sleep 0.5; echo late >late.txt"}}]}
  - {match: {user: change it, tool_results: 2, tools: [terminal]}, reply: {text: it is changed}}
  - match: {user: work for long, tools: [terminal]}
    reply: {tool_calls: [{name: terminal, arguments: {command: "echo here; sleep 1000"}}]}
  - match: {user: NEW FILES ADDED, assistant_turns: 0, tools: [file_editor]}
    reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: '{{find "ADDED: (/[^\n]+)" .LastUser}}'}}]}
  - {match: {user: NEW FILES ADDED, assistant_turns: 1, tools: [file_editor]}, reply: {text: it is read}}
  - {match: {user: are you there, tools: [terminal]}, reply: {text: I am here}}
  - match: {user: ask me, assistant_turns: 0, tools: [terminal]}
    reply: {tool_calls: [{name: terminal, arguments: {command: "echo no >no.txt"}}]}
  - match: {user: ask me, assistant_turns: 1, tools: [terminal]}
    reply: {tool_calls: [{name: terminal, arguments: {command: "echo yes >yes.txt"}}]}
  - {match: {user: ask me, assistant_turns: 2, tools: [terminal]}, reply: {text: asked}}
`

// v0Conversation is a conversation as V0 describes it.
type v0Conversation struct {
	ID      string  `json:"conversation_id"`
	Title   string  `json:"title"`
	Status  string  `json:"status"`
	Runtime *string `json:"runtime_status"`
	Version string  `json:"conversation_version"`
	URL     *string `json:"url"`
	Key     *string `json:"session_api_key"`
	Clients int     `json:"num_connections"`
}

// v0 is a client of the V0 routes of one conversation.
type v0 struct {
	*client
	t      *testing.T
	server string
	id     string
}

// v0Server starts a server whose model answers by v0Script.
func v0Server(t *testing.T) (*server, *v0) {
	t.Helper()
	model, err := llmtest.Parse([]byte(v0Script))
	if err != nil {
		t.Fatal(err)
	}
	llm := llmtest.Start(t, model)
	s := start(t, options{})
	c := &v0{client: newClient(t, s), t: t, server: s.url}
	c.call(http.StatusOK, "POST", "/api/settings", map[string]any{
		"llm_model": "openai/scripted", "llm_base_url": llm.URL + "/v1", "llm_api_key": "k", "confirmation_mode": false, "security_analyzer": nil,
	}, nil)
	return s, c
}

// call sends a request that must have an answer of a status. Paths that begin with a
// slash are the server's, others the conversation's.
func (c *v0) call(status int, method, path string, body, to any) []byte {
	c.t.Helper()
	if !strings.HasPrefix(path, "/") {
		path = strings.TrimSuffix("/api/conversations/"+c.id+"/"+path, "/")
	}
	var sent io.Reader
	if raw, ok := body.([]byte); ok {
		sent = bytes.NewReader(raw)
	} else if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		sent = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.server+path, sent)
	if err != nil {
		c.t.Fatal(err)
	}
	if to, ok := to.(http.Header); ok {
		r.Header = to
	}
	answer, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if answer.StatusCode != status {
		c.t.Errorf("%s %s: %s, want %d: %s", method, path, answer.Status, status, raw)
		return raw
	}
	if _, header := to.(http.Header); to != nil && !header {
		if err := json.Unmarshal(raw, to); err != nil {
			c.t.Errorf("%s %s: %s: %v", method, path, raw, err)
		}
	}
	return raw
}

// create starts a conversation.
func (c *v0) create(body map[string]any) {
	c.t.Helper()
	var made v0Conversation
	c.call(http.StatusOK, "POST", "/api/conversations", body, &made)
	if c.id = made.ID; len(c.id) != 32 {
		c.t.Fatalf("the conversation's id is %q", c.id)
	}
}

// shown is the conversation.
func (c *v0) shown() (one v0Conversation) {
	c.t.Helper()
	c.call(http.StatusOK, "GET", "", nil, &one)
	return one
}

// follow opens a socket for the conversation.
func (c *v0) follow(latest string) *sioClient {
	c.t.Helper()
	return c.join(c.t, c.server, c.id, latest)
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// TestV0Conversation is the life of a conversation over V0's routes and Socket.IO.
func TestV0Conversation(t *testing.T) {
	t.Parallel()
	s, c := v0Server(t)
	c.create(map[string]any{"initial_user_msg": "set it up"})
	socket := c.follow("-1")
	begun := []string{"system", "user says set it up", "run", "run", "agent says it is set up", "state finished"}
	seen := words(socket.until("state finished"))
	seen = slices.DeleteFunc(seen, func(w string) bool { return w == "state running" }) // before or after the socket is there
	want(t, "first run", seen, begun)
	one := c.shown()
	ready := "STATUS$READY"
	want(t, "conversation", one, v0Conversation{ID: c.id, Title: one.Title, Status: "RUNNING", Runtime: &ready, Version: "V0", Clients: 1})

	socket.say("thank you")
	want(t, "second run", words(socket.until("state finished")), []string{"user says thank you", "state running", "agent says you are welcome", "state finished"})
	socket.act("run", map[string]any{"command": "id"})
	want(t, "an action that only agents take", words(socket.until("status error")), []string{"status error"})

	c.events(socket.latest)
	c.workspace()
	c.about()

	c.settled(socket)
	socket.say("work for long")
	socket.until("run")
	socket.state("stopped")
	socket.until("state paused")
	c.call(http.StatusOK, "POST", "message", map[string]any{"message": "are you there"}, nil)
	socket.until("agent says I am here")
	end := socket.until("state finished")

	c.stopped(end)
	c.call(http.StatusOK, "PATCH", "", map[string]any{"title": " my title "}, nil)
	c.call(http.StatusUnprocessableEntity, "PATCH", "", map[string]any{"title": ""}, nil)
	want(t, "title", c.shown().Title, "my title")

	s.stop(t)
	c.deleted(s)
}

// settled asks for changes as OpenHands' page does, when a command begins: it is answered
// with what the command has changed.
func (c *v0) settled(socket *sioClient) {
	c.t.Helper()
	socket.say("change it")
	socket.until("run")
	var changes []map[string]string
	c.call(http.StatusOK, "GET", "git/changes", nil, &changes)
	if !slices.ContainsFunc(changes, func(one map[string]string) bool { return one["path"] == "late.txt" }) {
		c.t.Errorf("changes while a command runs: %v", changes)
	}
	socket.until("state finished")
}

// events looks at the events by REST, which are those of the socket.
func (c *v0) events(latest int64) {
	c.t.Helper()
	type page struct {
		Events []v0Event `json:"events"`
		More   bool      `json:"has_more"`
	}
	var all struct {
		Events []v0Event `json:"trajectory"`
	}
	c.call(http.StatusOK, "GET", "trajectory", nil, &all)
	var paged []v0Event
	for next := int64(0); ; next = *paged[len(paged)-1].ID + 1 {
		var p page
		c.call(http.StatusOK, "GET", "events?limit=3&start_id="+jsonOf(next), nil, &p)
		paged = append(paged, p.Events...)
		if !p.More || len(p.Events) == 0 {
			break
		}
	}
	want(c.t, "pages of events", words(paged), words(all.Events))
	var p page
	c.call(http.StatusOK, "GET", "events?reverse=true&limit=1", nil, &p)
	if len(p.Events) != 1 || *p.Events[0].ID != latest {
		c.t.Errorf("the last event is %v, want the id %d", p.Events, latest)
	}
	p = page{}
	c.call(http.StatusOK, "GET", "events", map[string]any{"include_types": []string{"message"}, "source": "user"}, &p)
	want(c.t, "messages of the user", words(p.Events), []string{"user says set it up", "user says thank you"})
	c.call(http.StatusBadRequest, "GET", "events?limit=101", nil, nil)
	c.call(http.StatusBadRequest, "GET", "events?limit=0", nil, nil)
	c.call(http.StatusUnprocessableEntity, "GET", "events?start_id=x", nil, nil)
	var prompt map[string]string
	c.call(http.StatusOK, "GET", "remember-prompt?event_id="+jsonOf(latest), nil, &prompt)
	want(c.t, "prompt", prompt, map[string]string{"status": "success", "prompt": "Remember the files."})
	c.call(http.StatusNotFound, "GET", "remember-prompt?event_id=100001", nil, nil)
}

// workspace looks at the files that the agent has made, and uploads some.
func (c *v0) workspace() {
	c.t.Helper()
	binary := []byte{0, 0xff, 'x', '\r', '\n'}
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	for _, name := range []string{"a.txt", "../../up.bin", ".git"} {
		f, err := parts.CreateFormFile("files", name)
		if err == nil {
			_, err = f.Write(binary)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
	if err := parts.Close(); err != nil {
		c.t.Fatal(err)
	}
	var up struct {
		Files   []string            `json:"uploaded_files"`
		Skipped []map[string]string `json:"skipped_files"`
	}
	if err := json.Unmarshal(c.call(http.StatusOK, "POST", "upload-files", form.Bytes(), http.Header{"Content-Type": {parts.FormDataContentType()}}), &up); err != nil {
		c.t.Fatal(err)
	}
	if len(up.Files) != 2 || !strings.HasSuffix(up.Files[0], "/project/a (1).txt") || !strings.HasSuffix(up.Files[1], "/project/up.bin") || len(up.Skipped) != 1 || up.Skipped[0]["name"] != ".git" {
		c.t.Errorf("uploaded: %v", up)
	}
	c.call(http.StatusUnprocessableEntity, "POST", "upload-files", nil, nil)

	var names []string
	c.call(http.StatusOK, "GET", "list-files", nil, &names)
	want(c.t, "files", names, []string{"sub/", ".gitignore", "a (1).txt", "a.txt", "new file.txt", "up.bin"})
	c.call(http.StatusOK, "GET", "list-files?path=sub", nil, &names)
	want(c.t, "files of a directory", names, []string{"sub/s.txt"})
	c.call(http.StatusNotFound, "GET", "list-files?path=none", nil, nil)
	var code map[string]string
	c.call(http.StatusOK, "GET", "select-file?file=a.txt", nil, &code)
	want(c.t, "a file", code, map[string]string{"code": "two\n"})
	c.call(http.StatusUnsupportedMediaType, "GET", "select-file?file=up.bin", nil, nil)
	c.call(http.StatusNotFound, "GET", "select-file?file=none", nil, nil)
	c.call(http.StatusUnprocessableEntity, "GET", "select-file?file=a%00.txt", nil, nil)
	c.call(http.StatusUnprocessableEntity, "GET", "select-file?file="+url.QueryEscape("../../../../../../../etc/passwd"), nil, nil)

	var changes []map[string]string
	c.call(http.StatusOK, "GET", "git/changes", nil, &changes)
	changed := map[string]string{}
	for _, one := range changes {
		changed[one["path"]] = one["status"]
	}
	want(c.t, "changes", changed, map[string]string{"a.txt": "M", "new file.txt": "A", "sub/s.txt": "A", "up.bin": "A", "a (1).txt": "A"})
	var diff map[string]string
	c.call(http.StatusOK, "GET", "git/diff?path=a.txt", nil, &diff)
	want(c.t, "diff", diff, map[string]string{"original": "one", "modified": "two"})
	c.call(http.StatusUnprocessableEntity, "GET", "git/diff?path=none", nil, nil)

	raw := c.call(http.StatusOK, "GET", "zip-directory", nil, nil)
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		c.t.Fatal(err)
	}
	packed := map[string]bool{}
	for _, f := range z.File {
		if !strings.Contains(f.Name, "/.git/") && !strings.HasSuffix(f.Name, "/") {
			packed[f.Name] = true
		}
		if strings.HasSuffix(f.Name, "/up.bin") {
			r, err := f.Open()
			if err != nil {
				c.t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, binary) {
				c.t.Errorf("the uploaded file is packed as %q, %v", got, err)
			}
		}
	}
	want(c.t, "archive", packed, map[string]bool{
		"project/.gitignore": true, "project/a.txt": true, "project/a (1).txt": true, "project/new file.txt": true,
		"project/x.log": true, "project/sub/s.txt": true, "project/up.bin": true,
	})
}

// about asks for what is left.
func (c *v0) about() {
	c.t.Helper()
	var config map[string]string
	c.call(http.StatusOK, "GET", "config", nil, &config)
	if config["session_id"] != c.id || len(config["runtime_id"]) != 32 {
		c.t.Errorf("config: %v", config)
	}
	want(c.t, "hosts", string(c.call(http.StatusOK, "GET", "web-hosts", nil, nil)), `{"hosts":{}}`)
	want(c.t, "experiment", string(c.call(http.StatusOK, "POST", "exp-config", map[string]any{"config": nil}, nil)), "false")
	want(c.t, "microagents", string(c.call(http.StatusOK, "GET", "microagents", nil, nil)), `{"microagents":[]}`)
	c.call(http.StatusOK, "GET", "vscode-url", nil, nil)
	c.call(http.StatusOK, "POST", "submit-feedback", map[string]any{"email": "a@example.org", "polarity": "positive", "trajectory": []any{}}, nil)
	c.call(http.StatusUnprocessableEntity, "POST", "submit-feedback", map[string]any{"polarity": "so so"}, nil)
	var said struct {
		All []struct {
			Polarity, Email string
			Events          int
		} `json:"feedback"`
	}
	c.call(http.StatusOK, "GET", "feedback", nil, &said)
	if len(said.All) != 1 || said.All[0].Polarity != "positive" || said.All[0].Email != "a@example.org" || said.All[0].Events < 5 {
		c.t.Errorf("feedback: %v", said)
	}
	for _, bad := range []map[string]any{{"unknown": 1}, {"replay_json": "[]"}, {"replay_json": "{", "repository": "o/r"}, {"mcp_config": map[string]any{"stdio_servers": []any{map[string]any{"name": "n"}}}}, {"mcp_config": map[string]any{"sse_servers": []string{"ftp://x"}}}, {"git_provider": "cvs"}} {
		c.call(http.StatusUnprocessableEntity, "POST", "/api/conversations", bad, nil)
	}
	for _, bad := range []string{`{"action":"run"}`, `{"observation":"run"}`, `{`, `{"action":"message","args":{"content":" "}}`} {
		answer := string(c.call(statusOfBad(bad), "POST", "events", []byte(bad), nil))
		if !strings.Contains(answer, `"message"`) {
			c.t.Errorf("%s: %s", bad, answer)
		}
	}
}

// statusOfBad is the status of an event that is refused: actions that only agents take, and
// what is no event.
func statusOfBad(event string) int {
	if strings.Contains(event, "run") {
		return http.StatusBadRequest
	}
	return http.StatusUnprocessableEntity
}

// stopped stops the conversation and starts it again.
func (c *v0) stopped(seen []v0Event) {
	c.t.Helper()
	var answer struct {
		Status string `json:"conversation_status"`
	}
	c.call(http.StatusOK, "POST", "stop", nil, &answer)
	want(c.t, "answer to a stop", answer.Status, "STOPPED")
	want(c.t, "stopped", c.shown().Status, "STOPPED")
	// Who has all but the last event gets that one only, and starts nothing.
	socket := c.follow(jsonOf(*seen[len(seen)-1].ID - 1))
	want(c.t, "what a client missed", words(socket.until("state finished")), []string{"state finished"})
	for _, read := range []string{"list-files", "zip-directory", "git/changes", "trajectory"} {
		c.call(http.StatusOK, "GET", read, nil, nil)
	}
	want(c.t, "stopped and read", c.shown().Status, "STOPPED")
	c.call(http.StatusOK, "POST", "start", map[string]any{"providers_set": []string{}}, &answer)
	want(c.t, "answer to a start", answer.Status, "RUNNING")
	want(c.t, "started", c.shown().Status, "RUNNING")
	socket.say("thank you")
	socket.until("state finished")
}

// deleted starts another server with the same data, where everything is as it was, and
// deletes the conversation there.
func (c *v0) deleted(s *server) {
	c.t.Helper()
	again := start(c.t, options{dir: s.data})
	c.client, c.server = newClient(c.t, again), again.url
	var list struct {
		Results []v0Conversation `json:"results"`
		Next    *string          `json:"next_page_id"`
	}
	c.call(http.StatusOK, "GET", "/api/conversations?limit=20", nil, &list)
	if len(list.Results) != 1 || list.Results[0].ID != c.id || list.Results[0].Title != "my title" || list.Next != nil {
		c.t.Errorf("the list is %v", list)
	}
	socket := c.follow("-1")
	replayed := words(socket.until("state finished"))
	want(c.t, "states in the replay", strings.Count(strings.Join(replayed, "\n"), "state "), 1)
	want(c.t, "deleted", string(c.call(http.StatusOK, "DELETE", "", nil, nil)), "true")
	want(c.t, "the end of the socket", socket.frame(), "41")
	want(c.t, "deleted again", string(c.call(http.StatusOK, "DELETE", "", nil, nil)), "false")
	want(c.t, "conversation", string(c.call(http.StatusOK, "GET", "", nil, nil)), "null")
	for _, path := range []string{"events", "trajectory", "config", "list-files", "git/changes", "feedback"} {
		c.call(http.StatusNotFound, "GET", path, nil, nil)
	}
	c.call(http.StatusNotFound, "POST", "message", map[string]any{"message": "x"}, nil)
	c.call(http.StatusNotFound, "POST", "start", map[string]any{}, nil)
}

// TestV0Confirmation rejects an action and confirms another one, over Socket.IO.
func TestV0Confirmation(t *testing.T) {
	t.Parallel()
	_, c := v0Server(t)
	c.call(http.StatusOK, "POST", "/api/settings", map[string]any{"confirmation_mode": true}, nil)
	c.create(nil)
	defer c.call(http.StatusOK, "DELETE", "", nil, nil)
	socket := c.follow("-1")
	socket.until("state awaiting_user_input")
	socket.say("ask me")
	// The page shows buttons at an action that comes while the agent waits.
	socket.until("state awaiting_user_confirmation")
	cutOff := strconv.FormatInt(socket.latest, 10)
	waits := socket.until("run")
	if asked := waits[0]; len(waits) != 1 || asked.Args["confirmation_state"] != "awaiting_confirmation" || asked.Args["command"] != "echo no >no.txt" {
		t.Errorf("the agent asks for %v %v", words(waits), asked.Args)
	}
	want(t, "for a client that was cut off before the action", words(c.follow(cutOff).until("state awaiting_user_confirmation")), []string{"run", "state awaiting_user_confirmation"})
	socket.state("user_rejected")
	want(t, "after a rejection", words(socket.until("state awaiting_user_input")), []string{"user_rejected", "state awaiting_user_input"})
	socket.say("ask me again")
	socket.until("run")
	socket.state("user_confirmed")
	want(t, "after a confirmation", words(socket.until("state finished")), []string{"state running", "run", "agent says asked", "state finished"})
	var names []string
	c.call(http.StatusOK, "GET", "list-files", nil, &names)
	want(t, "files", names, []string{"yes.txt"})
}

// TestV0Paths: the page finds the changes of a file by its path below V0's workspace, live and
// after a reload.
func TestV0Paths(t *testing.T) {
	t.Parallel()
	_, c := v0Server(t)
	c.create(nil)
	defer c.call(http.StatusOK, "DELETE", "", nil, nil)
	socket := c.follow("-1")
	socket.until("state awaiting_user_input")
	form := &bytes.Buffer{}
	parts := multipart.NewWriter(form)
	part, err := parts.CreateFormFile("files", "up load.txt")
	if err == nil {
		_, err = part.Write([]byte("from the page"))
	}
	if err = errors.Join(err, parts.Close()); err != nil {
		t.Fatal(err)
	}
	var up struct {
		Files []string `json:"uploaded_files"`
	}
	if err := json.Unmarshal(c.call(http.StatusOK, "POST", "upload-files", form.Bytes(), http.Header{"Content-Type": {parts.FormDataContentType()}}), &up); err != nil || len(up.Files) != 1 {
		t.Fatalf("uploaded %v: %v", up, err)
	}
	socket.say("NEW FILES ADDED: " + up.Files[0])
	for _, from := range []*sioClient{socket, c.follow("-1")} {
		var paths []any
		for _, e := range from.until("agent says it is read") {
			if e.String() == "read" { // the action, and then the observation
				of := e.Args
				if e.Observation != "" {
					of = e.Extras
				}
				paths = append(paths, of["path"])
			}
		}
		want(t, "paths", paths, []any{"/workspace/up load.txt", "/workspace/up load.txt"})
	}
}

// TestV0Callers refuses those who may not use a conversation, and pages of others.
func TestV0Callers(t *testing.T) {
	t.Parallel()
	s, c := v0Server(t)
	c.create(nil)
	socket := c.follow("-1")
	socket.until("state awaiting_user_input") // it is started
	defer c.call(http.StatusOK, "DELETE", "", nil, nil)
	for origin, status := range map[string]int{"": 101, s.url: 101, "http://evil.example": 403, "null": 403} {
		if _, got := c.dial(t, s.url, origin, url.Values{"conversation_id": {c.id}}); got != status {
			t.Errorf("a socket of a page of %q: %d, want %d", origin, got, status)
		}
	}
	nobody := &v0{client: &client{http: &http.Client{}}, t: t, server: s.url, id: c.id}
	t.Cleanup(nobody.http.CloseIdleConnections)
	if _, got := nobody.dial(t, s.url, "", url.Values{"conversation_id": {c.id}}); got != http.StatusUnauthorized {
		t.Errorf("a socket of nobody: %d", got)
	}
	nobody.call(http.StatusUnauthorized, "GET", "", nil, nil)
	nobody.call(http.StatusUnauthorized, "GET", "/api/conversations", nil, nil)
	nobody.call(http.StatusUnauthorized, "POST", "message", map[string]any{"message": "x"}, nil)
	for _, id := range []string{"", "x", strings.Repeat("0", 32), "../" + c.id} {
		socket, _ := c.dial(t, s.url, "", url.Values{"conversation_id": {id}})
		if got := socket.frame(); !strings.HasPrefix(got, "44{") {
			t.Errorf("a socket for the conversation %q: %s", id, got)
		}
	}
}

func jsonOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
