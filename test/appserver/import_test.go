package appserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

// sendRaw is send with a body that is not JSON made here.
func (c *client) sendRaw(t *testing.T, url string, body io.Reader) (status int, answer []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, url, body)
	must.Succeed(t, err)
	got, err := c.http.Do(r)
	must.Succeed(t, err)
	defer got.Body.Close()
	if answer, err = io.ReadAll(got.Body); err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, answer
}

// trajectory is a recording, as `deft conversations export` writes one.
func trajectory(t *testing.T, events ...any) []byte {
	t.Helper()
	raw, err := json.Marshal(events)
	must.Succeed(t, err)
	return raw
}

// statusUpdate is an event with a conversation's state.
func statusUpdate(id, status string) map[string]any {
	return map[string]any{"kind": "ConversationStateUpdateEvent", "id": id, "timestamp": "2026-01-02T03:04:06", "source": "environment", "key": "execution_status", "value": status}
}

// TestImport: a trajectory becomes a conversation of the caller that is read, downloaded,
// imported again from its download, and deleted, but not continued.
func TestImport(t *testing.T) {
	t.Parallel()
	d := join(t, `{turns: []}`)
	const base = "/api/v1/app-conversations"
	recorded := trajectory(t, userMessage("aaaaaaaa-0000-4000-8000-000000000001", mark), statusUpdate("aaaaaaaa-0000-4000-8000-000000000002", "running"))
	status, raw := d.owner.sendRaw(t, d.url+base+"/import?title=From+a+friend", bytes.NewReader(recorded))
	var made conversation
	if err := json.Unmarshal(raw, &made); status != http.StatusCreated || err != nil || made.Title != "From a friend" {
		t.Fatalf("%d: %s: %v", status, raw, err)
	}
	read := func(id string) string {
		t.Helper()
		_, raw := d.owner.send(t, "GET", d.url+"/api/v1/conversation/"+id+"/events/search", nil)
		return string(raw)
	}
	if events := read(made.ID); !strings.Contains(events, mark) {
		t.Errorf("the events are %s", events)
	}
	var running int
	if d.owner.do(t, "GET", d.url+base+"/count?execution_status__eq=running", nil, &running); running != 0 {
		t.Errorf("%d conversations run", running)
	}
	var found struct{ Items []conversation }
	d.owner.do(t, "GET", d.url+base+"/search?title__contains=friend", nil, &found)
	if len(found.Items) != 1 || found.Items[0].ID != made.ID {
		t.Errorf("the search finds %+v", found.Items)
	}
	message := map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "go on"}}, "run": true}
	if status, raw := d.owner.send(t, "POST", d.url+base+"/"+made.ID+"/send-message", message); status != http.StatusConflict || !strings.Contains(string(raw), "imported") {
		t.Errorf("it goes on: %d: %s", status, raw)
	}
	d.owner.do(t, "PATCH", d.url+base+"/"+made.ID, map[string]any{"title": "Renamed", "tags": map[string]string{"from": "afar"}, "public": true}, &made)
	if made.Title != "Renamed" || !made.Public {
		t.Errorf("it is changed to %+v", made)
	}
	bob := &client{http: http.DefaultClient, api: addOwner(t, d.server, "bob")}
	if status, _ := bob.send(t, "DELETE", d.url+base+"/"+made.ID, nil); status != http.StatusNotFound {
		t.Errorf("another owner deletes it: %d", status)
	}

	_, archive := d.owner.send(t, "GET", d.url+base+"/"+made.ID+"/download", nil)
	status, raw = d.owner.sendRaw(t, d.url+base+"/import", bytes.NewReader(archive))
	var again conversation
	if err := json.Unmarshal(raw, &again); status != http.StatusCreated || err != nil || again.ID == made.ID || again.Title != "Renamed" || read(again.ID) != read(made.ID) {
		t.Errorf("the download is imported: %d: %s: %v", status, raw, err)
	}
	text := "Add a greeting\nto the README, and say there what the program does"
	_, raw = d.owner.sendRaw(t, d.url+base+"/import", bytes.NewReader(trajectory(t, userMessage("aaaaaaaa-0000-4000-8000-000000000003", text))))
	var named conversation
	if err := json.Unmarshal(raw, &named); err != nil || named.Title != "Add a greeting to the README, and say there wha..." {
		t.Errorf("without a title: %s: %v", raw, err)
	}
	for _, id := range []string{made.ID, again.ID, named.ID} {
		d.owner.do(t, "DELETE", d.url+base+"/"+id, nil, nil)
	}
	d.none(t)
}

// none fails if there is a conversation.
func (d deployment) none(t *testing.T) {
	t.Helper()
	var n int
	if d.owner.do(t, "GET", d.url+"/api/v1/app-conversations/count", nil, &n); n != 0 {
		t.Errorf("there are %d conversations", n)
	}
}

// TestRefusedImports: a file that is no trajectory is refused with the reason, and
// leaves nothing.
func TestRefusedImports(t *testing.T) {
	t.Parallel()
	d := join(t, `{turns: []}`)
	one := userMessage("aaaaaaaa-0000-4000-8000-000000000001", "x")
	for name, c := range map[string]struct {
		query  string
		body   io.Reader
		status int
		says   string
	}{
		"nothing":    {"", strings.NewReader(""), http.StatusUnprocessableEntity, "not a trajectory"},
		"no JSON":    {"", strings.NewReader("hello"), http.StatusUnprocessableEntity, "not a trajectory"},
		"V0":         {"", strings.NewReader(`{"trajectory":[]}`), http.StatusUnprocessableEntity, "events"},
		"cut off":    {"", bytes.NewReader(trajectory(t, one)[:60]), http.StatusUnprocessableEntity, "not a trajectory"},
		"no event":   {"", bytes.NewReader(trajectory(t, one, map[string]any{"kind": "MessageEvent"})), http.StatusUnprocessableEntity, "event 2"},
		"twice":      {"", bytes.NewReader(trajectory(t, one, one)), http.StatusUnprocessableEntity, "event 2"},
		"a zip file": {"", strings.NewReader("PK\x03\x04"), http.StatusUnprocessableEntity, "zip"},
		"too large":  {"", io.LimitReader(blanks{}, 64<<20+1), http.StatusRequestEntityTooLarge, "too large"},
		"title":      {"?title=" + strings.Repeat("x", 201), bytes.NewReader(trajectory(t, one)), http.StatusUnprocessableEntity, "title"},
	} {
		if status, raw := d.owner.sendRaw(t, d.url+"/api/v1/app-conversations/import"+c.query, c.body); status != c.status || !strings.Contains(string(raw), c.says) {
			t.Errorf("%s: %d: %.300s", name, status, raw)
		}
	}
	d.none(t)
}

// blanks has no end.
type blanks struct{}

func (blanks) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestReplay: the actions of a recorded conversation are done anew without a model, with
// the paths of the new workspace, and the conversation is one's own.
func TestReplay(t *testing.T) {
	t.Parallel()
	d := join(t, lifeScript)
	first, _ := d.begin(t, map[string]any{"title": "First", "initial_message": text("make it")})
	want := acts(d.follow(t, first, "finished"))
	var recorded struct{ Items []json.RawMessage }
	d.owner.do(t, "GET", d.url+"/api/v1/conversation/"+first.ID+"/events/search?limit=100", nil, &recorded)
	raw, err := json.Marshal(recorded.Items)
	must.Succeed(t, err)
	const name = "renamed"
	old := d.workspace(first.Sandbox)
	if raw = bytes.ReplaceAll(raw, []byte("made; pwd; cat made"), []byte(old+"/"+name+"; pwd; cat "+old+"/"+name)); !bytes.Contains(raw, []byte(name)) {
		t.Fatalf("the command is not in %s", raw)
	}
	asked := d.llm.Count()
	status, answer := d.owner.sendRaw(t, d.url+"/api/v1/app-conversations/replay", bytes.NewReader(raw))
	var made conversation
	if err := json.Unmarshal(answer, &made); status != http.StatusCreated || err != nil || made.Sandbox == "" || made.Sandbox == first.Sandbox || made.Title != "make it" {
		t.Fatalf("%d: %s: %v", status, answer, err)
	}
	if diff := cmp.Diff(want, acts(d.follow(t, d.conversation(t, made.ID), "finished"))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if n := d.llm.Count(); n != asked {
		t.Errorf("the model was asked %d times", n-asked)
	}
	if _, err := os.Stat(filepath.Join(d.workspace(made.Sandbox), name)); err != nil {
		t.Errorf("the action was not done in the new workspace: %v", err)
	}
	if _, err := os.Stat(filepath.Join(old, name)); err == nil {
		t.Error("the action was done in the old workspace")
	}

	for says, body := range map[string][]byte{
		"no user message":  trajectory(t, statusUpdate("aaaaaaaa-0000-4000-8000-000000000002", "idle")),
		"event 1":          trajectory(t, map[string]any{"kind": "MessageEvent"}),
		"not a trajectory": []byte("{"),
	} {
		if status, answer := d.owner.sendRaw(t, d.url+"/api/v1/app-conversations/replay", bytes.NewReader(body)); status != http.StatusUnprocessableEntity || !strings.Contains(string(answer), says) {
			t.Errorf("%s: %d: %s", says, status, answer)
		}
	}
	var all struct{ Items []box }
	d.owner.do(t, "GET", d.url+"/api/v1/sandboxes/search", nil, &all)
	if len(all.Items) != 2 {
		t.Errorf("there are %d sandboxes", len(all.Items))
	}
}
