package appserver_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

// v0Script answers the agent by the user's last words, and everything else (titles)
// with a word.
const v0Script = `
by_history: true
default: {reply: {text: A title}}
turns:
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
  - match: {user: work for long, tools: [terminal]}
    reply: {tool_calls: [{name: terminal, arguments: {command: "echo here; sleep 1000"}}]}
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
}

// v0 is a client of the V0 routes of one conversation.
type v0 struct {
	*client
	t      *testing.T
	server string
	id     string
}

// v0Server starts a server whose model answers by v0Script.
func v0Server(t *testing.T) (deployment, *v0) {
	t.Helper()
	d := deploy(t, v0Script, options{})
	return d, v0Of(t, d)
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
		must.Succeed(c.t, err)
		sent = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.server+path, sent)
	must.Succeed(c.t, err)
	if to, ok := to.(http.Header); ok {
		r.Header = to
	}
	answer, err := c.http.Do(r)
	must.Succeed(c.t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	must.Succeed(c.t, err)
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

// said is the event of a message of a user, to the event of another state of the
// agent.
func said(text string) map[string]any {
	return map[string]any{"action": "message", "args": map[string]any{"content": text}}
}

func to(state string) map[string]any {
	return map[string]any{"action": "change_agent_state", "args": map[string]any{"agent_state": state}}
}

// act sends an event.
func (c *v0) act(event map[string]any) {
	c.t.Helper()
	c.call(http.StatusOK, "POST", "events", event, nil)
}

// trajectory is all that has happened.
func (c *v0) trajectory() []v0Event {
	c.t.Helper()
	var all struct {
		Events []v0Event `json:"trajectory"`
	}
	c.call(http.StatusOK, "GET", "trajectory", nil, &all)
	return all.Events
}

// since are the events after the first n.
func (c *v0) since(n int) []string { return words(c.trajectory()[n:]) }

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// TestV0Conversation is the life of a conversation over V0's routes.
func TestV0Conversation(t *testing.T) {
	t.Parallel()
	d, c := v0Server(t)
	c.create(map[string]any{"initial_user_msg": "set it up"})
	d.started(t, c.id)
	d.follow(t, d.conversation(t, c.id), "finished")
	want(t, "first run", c.since(0), []string{"system", "user says set it up", "state running", "run", "run", "agent says it is set up", "state finished"})
	one, ready := c.shown(), "STATUS$READY"
	at := d.url + "/api/conversations/" + c.id
	want(t, "conversation", one, v0Conversation{ID: c.id, Title: one.Title, Status: "RUNNING", Runtime: &ready, Version: "V1", URL: &at, Key: one.Key})

	before := len(c.trajectory())
	c.act(said("thank you"))
	d.follow(t, d.conversation(t, c.id), "finished", "running", "finished")
	want(t, "second run", c.since(before), []string{"user says thank you", "state running", "agent says you are welcome", "state finished"})

	c.events()
	c.workspace()
	c.refused()

	c.act(said("work for long"))
	d.follow(t, d.conversation(t, c.id), "finished", "running", "finished", "running")
	c.act(to("stopped"))
	d.follow(t, d.conversation(t, c.id), "paused")
	c.act(said("are you there"))
	d.follow(t, d.conversation(t, c.id), "paused", "running", "finished")
	if all := words(c.trajectory()); all[len(all)-2] != "agent says I am here" {
		t.Errorf("after a stop: %q", all)
	}

	c.stopped(d)
	c.call(http.StatusOK, "PATCH", "", map[string]any{"title": " my title "}, nil)
	c.call(http.StatusUnprocessableEntity, "PATCH", "", map[string]any{"title": ""}, nil)
	want(t, "title", c.shown().Title, "my title")

	all := words(c.trajectory())
	d.stop(t)
	c.deleted(d, all)
}

// events reads the events in pages.
func (c *v0) events() {
	c.t.Helper()
	type page struct {
		Events []v0Event `json:"events"`
		More   bool      `json:"has_more"`
	}
	all := c.trajectory()
	latest := *all[len(all)-1].ID
	var paged []v0Event
	for next := int64(0); ; next = *paged[len(paged)-1].ID + 1 {
		var p page
		c.call(http.StatusOK, "GET", "events?limit=3&start_id="+jsonOf(next), nil, &p)
		paged = append(paged, p.Events...)
		if !p.More || len(p.Events) == 0 {
			break
		}
	}
	want(c.t, "pages of events", words(paged), words(all))
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
		must.Succeed(c.t, err)
	}
	must.Succeed(c.t, parts.Close())
	var up struct {
		Files   []string            `json:"uploaded_files"`
		Skipped []map[string]string `json:"skipped_files"`
	}
	must.Succeed(c.t, json.Unmarshal(c.call(http.StatusOK, "POST", "upload-files", form.Bytes(), http.Header{"Content-Type": {parts.FormDataContentType()}}), &up))
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
	must.Succeed(c.t, err)
	packed := map[string]bool{}
	for _, f := range z.File {
		if !strings.Contains(f.Name, "/.git/") && !strings.HasSuffix(f.Name, "/") {
			packed[f.Name] = true
		}
		if strings.HasSuffix(f.Name, "/up.bin") {
			r, err := f.Open()
			must.Succeed(c.t, err)
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
	sparse := filepath.Join(filepath.Dir(up.Files[1]), "sub/sparse")
	must.Succeed(c.t, os.WriteFile(sparse, nil, 0o600))
	must.Succeed(c.t, os.Truncate(sparse, 2<<30))
	if raw := c.call(http.StatusUnprocessableEntity, "GET", "zip-directory", nil, nil); !strings.Contains(string(raw), "holes of more than 1 GiB") {
		c.t.Errorf("a workspace with a sparse file: %s", raw)
	}
	must.Succeed(c.t, os.Remove(sparse))
}

// refused sends wrong events.
func (c *v0) refused() {
	c.t.Helper()
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
// anything but an event.
func statusOfBad(event string) int {
	if strings.Contains(event, "run") {
		return http.StatusBadRequest
	}
	return http.StatusUnprocessableEntity
}

// stopped stops the conversation and starts it again.
func (c *v0) stopped(d deployment) {
	c.t.Helper()
	var answer struct {
		Status string `json:"conversation_status"`
	}
	c.call(http.StatusOK, "POST", "stop", nil, &answer)
	want(c.t, "answer to a stop", answer.Status, "STOPPED")
	want(c.t, "stopped", c.shown().Status, "STOPPED")
	for _, read := range []string{"list-files", "zip-directory", "git/changes", "trajectory", "events"} {
		c.call(http.StatusOK, "GET", read, nil, nil)
	}
	want(c.t, "stopped and read", c.shown().Status, "STOPPED")
	c.call(http.StatusOK, "POST", "start", map[string]any{"providers_set": []string{}}, &answer)
	want(c.t, "answer to a start", answer.Status, "RUNNING")
	want(c.t, "started", c.shown().Status, "RUNNING")
	before := len(c.trajectory())
	c.act(said("thank you"))
	d.follow(c.t, d.conversation(c.t, c.id), "paused", "running", "finished", "running", "finished")
	want(c.t, "after a start", c.since(before), []string{"user says thank you", "state running", "agent says you are welcome", "state finished"})
}

// deleted starts another server with the same data, where everything is as it was, and
// deletes the conversation there.
func (c *v0) deleted(d deployment, before []string) {
	c.t.Helper()
	again := d.again(c.t, options{dir: d.data})
	c.client, c.server = again.owner, again.url
	var list struct {
		Results []v0Conversation `json:"results"`
		Next    *string          `json:"next_page_id"`
	}
	c.call(http.StatusOK, "GET", "/api/conversations?limit=20", nil, &list)
	if len(list.Results) != 1 || list.Results[0].ID != c.id || list.Results[0].Title != "my title" || list.Next != nil {
		c.t.Errorf("the list is %v", list)
	}
	want(c.t, "events", words(c.trajectory()), before)
	want(c.t, "deleted", string(c.call(http.StatusOK, "DELETE", "", nil, nil)), "true")
	want(c.t, "deleted again", string(c.call(http.StatusOK, "DELETE", "", nil, nil)), "false")
	want(c.t, "conversation", string(c.call(http.StatusOK, "GET", "", nil, nil)), "null")
	for _, path := range []string{"events", "trajectory", "config", "list-files", "git/changes"} {
		c.call(http.StatusNotFound, "GET", path, nil, nil)
	}
	c.call(http.StatusNotFound, "POST", "events", said("x"), nil)
	c.call(http.StatusNotFound, "POST", "start", map[string]any{}, nil)
}

// TestV0Confirmation rejects an action and confirms another one.
func TestV0Confirmation(t *testing.T) {
	t.Parallel()
	d, c := v0Server(t)
	d.owner.do(t, "POST", d.url+"/api/v1/settings", map[string]any{"conversation_settings_diff": map[string]any{"confirmation_mode": true, "security_analyzer": "none"}}, nil)
	c.create(map[string]any{"initial_user_msg": "ask me"})
	d.started(t, c.id)
	made := d.conversation(t, c.id)
	d.follow(t, made, "waiting_for_confirmation")
	all := c.trajectory()
	if asked := all[len(all)-2]; asked.String() != "run" || asked.Args["confirmation_state"] != "awaiting_confirmation" || asked.Args["command"] != "echo no >no.txt" {
		t.Errorf("the agent asks for %v %v", words(all), asked.Args)
	}
	c.act(to("user_rejected"))
	d.follow(t, made, "waiting_for_confirmation", "idle")
	want(t, "after a rejection", c.since(len(all)), []string{"user_rejected", "state awaiting_user_input"})
	c.act(said("ask me again"))
	d.follow(t, made, "waiting_for_confirmation", "idle", "waiting_for_confirmation")
	before := len(c.trajectory())
	c.act(to("user_confirmed"))
	d.follow(t, made, "waiting_for_confirmation", "idle", "waiting_for_confirmation", "finished")
	want(t, "after a confirmation", c.since(before), []string{"state running", "run", "agent says asked", "state finished"})
	var names []string
	c.call(http.StatusOK, "GET", "list-files", nil, &names)
	want(t, "files", names, []string{"yes.txt"})
}

// v0Event is an event of V0.
type v0Event struct {
	ID          *int64         `json:"id"`
	Source      string         `json:"source"`
	Message     string         `json:"message"`
	Action      string         `json:"action"`
	Observation string         `json:"observation"`
	Args        map[string]any `json:"args"`
	Extras      map[string]any `json:"extras"`
}

// String describes an event in a word or two.
func (e v0Event) String() string {
	switch {
	case e.Observation == "agent_state_changed":
		state, _ := e.Extras["agent_state"].(string)
		return "state " + state
	case e.Action == "message":
		return e.Source + " says " + e.Message
	}
	return e.Action + e.Observation
}

// words describes events.
func words(all []v0Event) (out []string) {
	for _, e := range all {
		out = append(out, e.String())
	}
	return out
}

func jsonOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
