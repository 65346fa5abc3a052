package appserver_test

import (
	"archive/zip"
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/postgrestest"
)

// lifeScript makes a file, and later looks at it.
const lifeScript = `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo $((20+3)) >made; pwd; cat made"}}]}
  - reply: {text: it is made}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "cat made made"}}]}
  - reply: {text: it is still there}
`

// image has busybox alone. `make deps` makes it.
const image = "deft-test-busybox:1"

// engine returns the address of a Docker engine.
func engine(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"DOCKER_HOST", "DEFT_TEST_DOCKER"} {
		if host := os.Getenv(name); host != "" {
			return host
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no Docker engine: DEFT_TEST_DOCKER names none (make deps)")
	}
	t.Skip("no Docker engine: DEFT_TEST_DOCKER names none (make deps)")
	return ""
}

// TestLife: a conversation is started, followed, read, renamed, paused, continued and
// deleted, in each kind of sandbox and with each database.
func TestLife(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(t *testing.T) options{
		"process": func(*testing.T) options { return options{} },
		"docker": func(t *testing.T) options {
			return options{args: []string{"--sandbox", "docker", "--image", image, "--pull", "never"}, env: []string{"DOCKER_HOST=" + engine(t)}}
		},
		"postgres": func(t *testing.T) options { return options{database: postgrestest.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testLife(t, deploy(t, lifeScript, of(t)))
		})
	}
}

func testLife(t *testing.T, d deployment) {
	base := d.url + "/api/v1/app-conversations"
	c, states := d.begin(t, map[string]any{"title": "Make it", "initial_message": text("make it")})
	if first, last := states[0], states[len(states)-1]; first != "WORKING" || last != "READY" {
		t.Errorf("the start task was in states %v", states)
	}
	all := d.follow(t, c, "finished")
	want := []string{"user MessageEvent", "agent ActionEvent", "environment ObservationEvent", "agent MessageEvent"}
	if diff := cmp.Diff(want, acts(all)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for _, e := range all {
		if e.Kind == "ObservationEvent" && (e.Observation.Code == nil || *e.Observation.Code != 0) {
			t.Errorf("the command ended with %v: %+v", e.Observation.Code, e.Observation.Content)
		}
	}

	var file string
	d.owner.do(t, "GET", base+"/"+c.ID+"/file?file_path=/workspace/project/made", nil, &file)
	if file != "23\n" {
		t.Errorf("the file has %q", file)
	}
	for name, want := range map[string]int{"missing": http.StatusOK, "../../../app.db": http.StatusUnprocessableEntity, "/etc/passwd": http.StatusUnprocessableEntity, ".": http.StatusUnprocessableEntity} {
		if status, raw := d.owner.send(t, "GET", base+"/"+c.ID+"/file?file_path="+name, nil); status != want {
			t.Errorf("the file %s: %d: %.200s", name, status, raw)
		}
	}
	var count int
	d.owner.do(t, "GET", d.url+"/api/v1/conversation/"+c.ID+"/events/count?kind__eq=ActionEvent", nil, &count)
	if count != 1 {
		t.Errorf("%d actions are counted", count)
	}
	_, raw := d.owner.send(t, "GET", base+"/"+c.ID+"/download", nil)
	if archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw))); err != nil {
		t.Errorf("the download: %v", err)
	} else if len(archive.File) < len(want) {
		t.Errorf("the download has %d files", len(archive.File))
	}

	d.owner.do(t, "PATCH", base+"/"+c.ID, map[string]any{"title": " Made\n"}, nil)
	if status, _ := d.owner.send(t, "PATCH", base+"/"+c.ID, map[string]any{"title": strings.Repeat("x", 201)}); status != http.StatusUnprocessableEntity {
		t.Errorf("a title of 201 characters: %d", status)
	}
	var found struct{ Items []conversation }
	d.owner.do(t, "GET", base+"/search?title__contains=mad", nil, &found)
	if len(found.Items) != 1 || found.Items[0].Title != "Made" || found.Items[0].Status != "finished" {
		t.Errorf("the search finds %+v", found.Items)
	}

	d.owner.do(t, "POST", d.url+"/api/v1/sandboxes/"+c.Sandbox+"/pause", nil, nil)
	if got := d.conversation(t, c.ID); got.SandboxIs != "PAUSED" || got.URL != "" || got.Key != "" {
		t.Errorf("in a paused sandbox: %+v", got)
	}
	d.owner.do(t, "POST", d.url+"/api/v1/sandboxes/"+c.Sandbox+"/resume", nil, nil)
	d.owner.do(t, "POST", base+"/"+c.ID+"/send-message", text("is it there?"), nil)
	if last, want := observed(d.follow(t, c, "finished", "running", "finished")), "23\n23"; last != want {
		t.Errorf("the files after the pause: %q, want %q", last, want)
	}

	d.owner.do(t, "DELETE", base+"/"+c.ID, nil, nil)
	if status, raw := d.owner.send(t, "GET", base+"/"+c.ID+"/file", nil); status != http.StatusNotFound {
		t.Errorf("a deleted conversation answers %d: %s", status, raw)
	}
	if _, err := os.Stat(filepath.Dir(d.workspace(c.Sandbox))); !os.IsNotExist(err) {
		t.Errorf("the workspace of a deleted conversation: %v", err)
	}
}

// TestScope: the key of a sandbox reaches its own conversations and files, and no other ones.
func TestScope(t *testing.T) {
	t.Parallel()
	d := join(t, lifeScript)
	one, _ := d.begin(t, map[string]any{"title": "one"})
	other, _ := d.begin(t, map[string]any{"title": "other"})
	stranger := &client{http: d.owner.http, key: one.Key}
	for path, want := range map[string]int{
		"/api/conversations/" + one.ID:                           http.StatusOK,
		"/api/conversations/" + other.ID:                         http.StatusNotFound,
		"/api/conversations/" + other.ID + "/events/search":      http.StatusNotFound,
		"/api/file/download/etc/passwd":                          http.StatusUnprocessableEntity,
		"/api/file/download" + d.workspace(other.Sandbox) + "/x": http.StatusUnprocessableEntity,
	} {
		if got, raw := stranger.send(t, "GET", d.url+path, nil); got != want {
			t.Errorf("GET %s: %d, want %d: %.200s", path, got, want, raw)
		}
	}
}

// TestSharing: who has the link reads a public conversation, and nothing else of it.
func TestSharing(t *testing.T) {
	t.Parallel()
	d := join(t, lifeScript)
	c, _ := d.begin(t, map[string]any{"title": "Shown", "initial_message": text("make it")})
	d.follow(t, c, "finished")
	reader := &client{http: &http.Client{}}
	t.Cleanup(reader.http.CloseIdleConnections)
	describe, events := d.url+"/api/shared-conversations?ids="+c.ID, d.url+"/api/shared-events/search?conversation_id="+c.ID
	var found []*conversation
	reader.do(t, "GET", describe, nil, &found)
	if found[0] != nil {
		t.Errorf("one that is not shared: %+v", *found[0])
	}
	if status, raw := reader.send(t, "GET", events, nil); status != http.StatusNotFound {
		t.Errorf("events of one that is not shared: %d: %.200s", status, raw)
	}

	d.owner.do(t, "PATCH", d.url+"/api/v1/app-conversations/"+c.ID, map[string]any{"public": true}, nil)
	reader.do(t, "GET", describe, nil, &found)
	if found[0] == nil || found[0].Title != "Shown" {
		t.Fatalf("one that is shared: %+v", found[0])
	}
	if found[0].Key != "" || found[0].URL != "" {
		t.Errorf("a shared conversation shows how to work with it: %+v", *found[0])
	}
	var page struct{ Items []seen }
	reader.do(t, "GET", events, nil, &page)
	if got := acts(page.Items); len(got) != 4 {
		t.Errorf("the reader sees %v", got)
	}
	if status, raw := reader.send(t, "POST", d.url+"/api/v1/app-conversations/"+c.ID+"/send-message", text("and now?")); status != http.StatusUnauthorized {
		t.Errorf("a reader sends a message: %d: %s", status, raw)
	}
}

// TestRestart: a server that is killed in the middle of an action and started again joins
// the action, which runs once.
func TestRestart(t *testing.T) {
	t.Parallel()
	one := deploy(t, script, options{})
	var sandbox struct {
		ID string `json:"id"`
	}
	one.owner.do(t, "POST", one.url+"/api/v1/sandboxes", nil, &sandbox)
	workspace := one.workspace(sandbox.ID)
	pipes(t, workspace, "begun", "go")
	c, _ := one.begin(t, map[string]any{"title": "Made", "sandbox_id": sandbox.ID, "initial_message": text("make it")})
	waitFor(t, filepath.Join(workspace, "begun"))
	one.kill(t)

	again := one.again(t, options{})
	tell(t, filepath.Join(workspace, "go"))
	want := []string{"user MessageEvent", "agent ActionEvent", "environment ObservationEvent", "agent MessageEvent"}
	if diff := cmp.Diff(want, acts(again.follow(t, c, "finished"))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	made, err := os.ReadFile(filepath.Join(workspace, "made"))
	if err != nil || string(made) != "one\ntwo\n" {
		t.Errorf("the command has made %q, %v", made, err)
	}
}

// TestParts: a conversation knows those that work on a part of its task, which share its
// sandbox, and its tags can be changed whatever its sandbox does.
func TestParts(t *testing.T) {
	t.Parallel()
	d := join(t, lifeScript)
	whole, _ := d.begin(t, map[string]any{"title": "whole"})
	part, _ := d.begin(t, map[string]any{"title": "part", "parent_conversation_id": whole.ID, "agent_type": "plan"})
	if part.Sandbox != whole.Sandbox {
		t.Errorf("the part is in the sandbox %s, the whole in %s", part.Sandbox, whole.Sandbox)
	}
	type shown struct {
		Parent string            `json:"parent_conversation_id"`
		Subs   []string          `json:"sub_conversation_ids"`
		Agent  string            `json:"agent_type"`
		Tags   map[string]string `json:"tags"`
	}
	base := d.url + "/api/v1/app-conversations"
	d.owner.do(t, "DELETE", d.url+"/api/v1/sandboxes/"+whole.Sandbox, nil, nil)
	d.owner.do(t, "PATCH", base+"/"+whole.ID, map[string]any{"tags": map[string]string{"team": "web"}}, nil)
	var found []shown
	d.owner.do(t, "GET", base+"?ids="+whole.ID+"&ids="+part.ID, nil, &found)
	want := []shown{
		{Subs: []string{part.ID}, Agent: "default", Tags: map[string]string{"team": "web"}},
		{Parent: whole.ID, Subs: []string{}, Agent: "plan", Tags: map[string]string{}},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("the conversations (-want +got):\n%s", diff)
	}
	for _, tags := range []map[string]string{{"No": "x"}, {"a b": ""}, {"x": strings.Repeat("y", 257)}} {
		if status, raw := d.owner.send(t, "PATCH", base+"/"+whole.ID, map[string]any{"tags": tags}); status != http.StatusUnprocessableEntity {
			t.Errorf("the tags %v: %d: %s", tags, status, raw)
		}
	}
	d.owner.do(t, "DELETE", base+"/"+whole.ID, nil, nil)
	if _, raw := d.owner.send(t, "GET", base+"?ids="+whole.ID+"&ids="+part.ID, nil); strings.TrimSpace(string(raw)) != "[null,null]" {
		t.Errorf("after the whole was deleted: %s", raw)
	}
}
