package appserver_test

import (
	"net/http"
	"testing"
)

// TestArchive: a conversation whose sandbox was deleted is readable, and goes on in a new
// one with its repository and the files that it had.
func TestArchive(t *testing.T) {
	t.Parallel()
	url, env := host(t, map[string]string{"README": "hello\n"})
	d := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo more >>README; mkdir -p deep; echo new >deep/made"}}]}
  - reply: {text: made}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "cat README deep/made; git log --format=%s; git status --short"}}]}
  - reply: {text: still there}
`, options{env: env})
	c, _ := d.begin(t, map[string]any{"title": "Kept", "selected_repository": url, "initial_message": text("make it")})
	d.follow(t, c, "finished")
	d.owner.do(t, "DELETE", d.url+"/api/v1/sandboxes/"+c.Sandbox, nil, nil)
	if got := d.conversation(t, c.ID); got.SandboxIs != "MISSING" || got.URL != "" || got.Title != "Kept" {
		t.Errorf("without a sandbox: %+v", got)
	}
	var count int
	d.owner.do(t, "GET", d.url+"/api/v1/conversation/"+c.ID+"/events/count?kind__eq=ActionEvent", nil, &count)
	if count != 1 {
		t.Errorf("%d actions are counted", count)
	}
	base := d.url + "/api/v1/app-conversations/" + c.ID
	if status, raw := d.owner.send(t, "GET", base+"/file?file_path=README", nil); status < 400 || status >= 500 {
		t.Errorf("a file that is gone: %d: %s", status, raw)
	}
	if status, raw := (&client{http: d.owner.http, key: c.Key}).send(t, "GET", d.url+"/api/conversations/"+c.ID, nil); status == http.StatusOK {
		t.Errorf("the key of a deleted sandbox: %s", raw)
	}

	var forked conversation
	d.owner.do(t, "POST", base+"/fork", map[string]any{}, &forked)
	if forked.SandboxIs != "RUNNING" || forked.Sandbox == c.Sandbox {
		t.Errorf("a fork of an archived conversation: %+v", forked)
	}
	d.owner.do(t, "DELETE", d.url+"/api/v1/app-conversations/"+forked.ID, nil, nil)

	var resumed conversation
	d.owner.do(t, "POST", base+"/resume", nil, &resumed)
	if resumed.SandboxIs != "RUNNING" || resumed.Key == "" || resumed.ID != c.ID {
		t.Errorf("resumed: %+v", resumed)
	}
	d.owner.do(t, "DELETE", d.url+"/api/v1/sandboxes/"+c.Sandbox, nil, nil)

	d.owner.do(t, "POST", base+"/send-message", text("is it there?"), nil)
	again := d.conversation(t, c.ID)
	if again.SandboxIs != "RUNNING" || again.Key == "" || again.Key == c.Key {
		t.Errorf("in a new sandbox: %+v", again)
	}
	if got, want := observed(d.follow(t, again, "finished", "running", "finished")), "hello\nmore\nnew\none\n M README\n?? deep/"; got != want {
		t.Errorf("in the new sandbox: %q, want %q", got, want)
	}
}
