package appserver_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// TestArchive: a conversation whose sandbox was deleted is readable, and goes on in a new
// one with its repository, a commit that was not pushed and the files that it had.
func TestArchive(t *testing.T) {
	t.Parallel()
	url, env := host(t, map[string]string{"README": "hello\n"})
	d := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo more >>README; git -c user.name=a -c user.email=a@b commit -qam mine; mkdir -p deep; echo new >deep/made"}}]}
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
	for _, path := range []string{
		base + "/file?file_path=README", base + "/files", base + "/git/changes?path=.", base + "/skills", base + "/hooks",
		d.url + "/api/conversations/" + c.ID + "/list-files",
	} {
		status, raw := d.owner.send(t, "GET", path, nil)
		if status != http.StatusConflict || !strings.Contains(string(raw), "the sandbox of this conversation was deleted") ||
			!strings.Contains(string(raw), "resume the conversation") || strings.Contains(string(raw), d.data) {
			t.Errorf("GET %s without a sandbox: %d: %s", path, status, raw)
		}
	}
	if status, raw := (&client{http: d.owner.http, key: c.Key}).send(t, "GET", d.url+"/api/conversations/"+c.ID, nil); status == http.StatusOK {
		t.Errorf("the key of a deleted sandbox: %s", raw)
	}

	bob := &client{http: http.DefaultClient, api: addOwner(t, d.server, "bob")}
	for path, body := range map[string]any{"/resume": nil, "/fork": map[string]any{}, "/send-message": text("mine now"), "/undo": map[string]any{}} {
		if status, raw := bob.send(t, "POST", base+path, body); status != http.StatusNotFound {
			t.Errorf("another owner's %s of the archive: %d: %s", path, status, raw)
		}
	}
	if status, raw := bob.send(t, "POST", d.url+"/api/v1/app-conversations", map[string]any{"sandbox_id": c.Sandbox}); status != http.StatusNotFound {
		t.Errorf("another owner starts in the sandbox that was deleted: %d: %s", status, raw)
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
	if got, want := observed(d.follow(t, again, "finished", "running", "finished")), "hello\nmore\nnew\nmine\none\n?? deep/"; got != want {
		t.Errorf("in the new sandbox: %q, want %q", got, want)
	}
}

// TestArchiveOfSub: files that only a sub-conversation has made are there again, too,
// whichever conversation goes on first; and nothing is kept when the last one is
// deleted.
func TestArchiveOfSub(t *testing.T) {
	t.Parallel()
	d := join(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "echo of $(cat who 2>/dev/null || echo one) >>made; echo two >who"}}]}
  - reply: {text: made}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "cat made"}}]}
  - reply: {text: still there}
`)
	parent, _ := d.begin(t, map[string]any{"initial_message": text("make it")})
	d.follow(t, parent, "finished")
	sub, _ := d.begin(t, map[string]any{"parent_conversation_id": parent.ID, "initial_message": text("make it")})
	d.follow(t, sub, "finished")
	if sub.Sandbox != parent.Sandbox {
		t.Fatalf("the sub-conversation is in %s", sub.Sandbox)
	}
	d.owner.do(t, "DELETE", d.url+"/api/v1/sandboxes/"+sub.Sandbox, nil, nil)
	archive := filepath.Join(d.data, "files", "workspaces", sub.Sandbox+".tar.gz")
	if _, err := os.Stat(archive); err != nil {
		t.Error(err)
	}
	for _, c := range []conversation{sub, parent} {
		base := d.url + "/api/v1/app-conversations/" + c.ID
		d.owner.do(t, "POST", base+"/send-message", text("is it there?"), nil)
		if got, want := observed(d.follow(t, d.conversation(t, c.ID), "finished", "running", "finished")), "of one\nof two"; got != want {
			t.Errorf("in the new sandbox: %q, want %q", got, want)
		}
	}
	d.owner.do(t, "DELETE", d.url+"/api/v1/sandboxes/"+sub.Sandbox, nil, nil) // it is archived again
	d.owner.do(t, "DELETE", d.url+"/api/v1/app-conversations/"+sub.ID, nil, nil)
	if _, err := os.Stat(archive); err != nil {
		t.Errorf("a conversation is left: %v", err)
	}
	d.owner.do(t, "DELETE", d.url+"/api/v1/app-conversations/"+parent.ID, nil, nil)
	if _, err := os.Stat(archive); !os.IsNotExist(err) {
		t.Errorf("no conversation is left: %v", err)
	}
}

// TestArchiveInBucket: another App Server, which shares the database and a bucket but no
// directory, brings back the files of a sandbox that was deleted.
func TestArchiveInBucket(t *testing.T) {
	t.Parallel()
	backend := s3mem.New()
	must.Succeed(t, backend.CreateBucket("files"))
	bucket := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(bucket.Close)
	o := options{
		database: postgrestest.URL(t), args: []string{"--files-url", "s3://files/deft?region=us-east-1&endpoint=" + bucket.URL},
		env: []string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "OH_SECRET_KEY=of both"},
	}
	one := deploy(t, `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "git init -q; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m mine; echo new >made"}}]}
  - reply: {text: made}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "cat made; git log --format=%s"}}]}
  - reply: {text: still there}
`, o)
	c, _ := one.begin(t, map[string]any{"initial_message": text("make it")})
	one.follow(t, c, "finished")
	one.owner.do(t, "DELETE", one.url+"/api/v1/sandboxes/"+c.Sandbox, nil, nil)
	one.stop(t)

	o.dir = t.TempDir()
	o.env = o.env[:3]
	other := one.again(t, o)
	base := other.url + "/api/v1/app-conversations/" + c.ID
	other.owner.do(t, "POST", base+"/send-message", text("is it there?"), nil)
	if got, want := observed(other.follow(t, other.conversation(t, c.ID), "finished", "running", "finished")), "new\nmine"; got != want {
		t.Errorf("at the other server: %q, want %q", got, want)
	}
	other.owner.do(t, "DELETE", base, nil, nil)
	if left, err := backend.ListBucket("files", nil, gofakes3.ListBucketPage{}); err != nil || len(left.Contents) > 0 {
		t.Errorf("left in the bucket: %+v, %v", left, err)
	}
}
